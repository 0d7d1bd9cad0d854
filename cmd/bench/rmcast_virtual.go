package main

import (
	"fmt"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/rmcastsim"
)

// castNet returns a simulated group of state machines without a network stack.
func castNet(cfg rmcastsim.Config) *rmcastsim.Net {
	if cfg.Topology == nil {
		cfg.Topology = evenLinks(500 * time.Microsecond)
	}
	cfg.Bare = true
	n := must(rmcastsim.New(cfg))
	succeed(n.Form())
	return n
}

// calm configures the timers of a group so that they do not disturb a measurement.
var calm = rmcast.GroupConfig{Guard: time.Second, ReportInterval: time.Hour}

// measureCastSavings measures the part of goal G-RM-1 in virtual time: how much time rmcast saves compared with a
// broadcast down a binomial tree and a barrier after it.
func measureCastSavings(b *measurement) {
	for nodes := 2; nodes <= 7; nodes++ {
		l := logP{nodes: nodes, latency: unitOverhead, overhead: unitOverhead}
		ours := l.ours()
		far := logP{nodes: nodes, latency: 10 * unitOverhead, overhead: unitOverhead}
		oursFar := far.ours()
		saved := func(ours, theirs time.Duration) float64 { return 100 * (1 - float64(ours)/float64(theirs)) }
		b.add(line{
			what:  fmt.Sprintf("virtual time, %d nodes, l = o, saved against a binomial broadcast and barrier", nodes),
			ratio: saved(ours, l.broadcast(l.treeBarrier)), unit: "%", limit: 40, least: true, free: nodes == 2,
			basis: fmt.Sprintf("%d : %d o; barrier by dissemination %.0f %%; with l = 10 o %.0f and %.0f %%", ours/unitOverhead, l.broadcast(l.treeBarrier)/unitOverhead,
				saved(ours, l.broadcast(l.dissemination)), saved(oursFar, far.broadcast(far.treeBarrier)), saved(oursFar, far.broadcast(far.dissemination))),
		})
	}
}

// logP is the model of time by which rmcast and its competitors are measured. A message takes
// the time latency, and a node takes the time overhead for each message that it handles. An
// answer to that message leaves at the end of this overhead; each other message that the node
// sends takes one more overhead.
type logP struct {
	nodes             int
	latency, overhead time.Duration
}

// ours returns how long a message of rmcast takes until its origin knows that all have it.
func (l logP) ours() time.Duration {
	n := castNet(rmcastsim.Config{
		Network: scenario.Network{Nodes: l.nodes, Topology: evenLinks(l.latency), CPU: sim.CPU{PerStep: l.overhead}}, Rmcast: calm, Manager: rmcast.ManagerConfig{Window: 2},
	})
	return must(n.Send(0, 2048)).Elapsed() + l.overhead // this adds the time to handle the last acknowledgement
}

// broadcast returns the time from the start of a broadcast down a binomial tree to the end of the barrier
// that follows it. For each rank r, the barrier gets the time free[r] at which r has sent all its copies of
// the payload, and first[r], which says whether the next message of r leaves at that time, without another
// overhead for sending.
func (l logP) broadcast(barrier func(free []time.Duration, first []bool) time.Duration) time.Duration {
	free, first := make([]time.Duration, l.nodes), make([]bool, l.nodes)
	for rank := range l.nodes { // in the order of ranks, because parents have lower ranks
		first[rank] = rank > 0
		for _, c := range casterTree(l.nodes).AppendChildren(nil, rank) {
			if !first[rank] {
				free[rank] += l.overhead
			}
			first[rank] = false
			free[c.Rank] = free[rank] + l.latency + l.overhead
		}
	}
	return barrier(free, first)
}

// send returns the time at which the next message of a rank leaves.
func (l logP) send(free []time.Duration, first []bool, rank int) time.Duration {
	if !first[rank] {
		free[rank] += l.overhead
	}
	first[rank] = false
	return free[rank]
}

// take lets a rank handle a message that left its sender at the time left.
func (l logP) take(free []time.Duration, first []bool, rank int, left time.Duration) {
	free[rank] = max(free[rank], left+l.latency) + l.overhead
	first[rank] = true
}

// dissemination is a barrier in rounds. In them, each rank sends a message to the rank that is
// 1, 2, 4, ... ahead of it.
func (l logP) dissemination(free []time.Duration, first []bool) time.Duration {
	for step := 1; step < l.nodes; step *= 2 {
		left := make([]time.Duration, l.nodes)
		for rank := range l.nodes {
			left[rank] = l.send(free, first, rank)
		}
		for rank := range l.nodes {
			l.take(free, first, rank, left[(rank-step+l.nodes)%l.nodes])
		}
	}
	return free[0]
}

// treeBarrier is a barrier whose messages go up a tree until the root has heard from all, and
// then down again to release the ranks. It is over when the last rank has been released.
func (l logP) treeBarrier(free []time.Duration, first []bool) time.Duration {
	t := casterTree(l.nodes)
	left := make([]time.Duration, l.nodes)
	for rank := l.nodes - 1; rank >= 0; rank-- {
		children := t.AppendChildren(nil, rank)
		for i := len(children); i > 0; i-- { // children with smaller subtrees are ready sooner
			l.take(free, first, rank, left[children[i-1].Rank])
		}
		if rank > 0 {
			left[rank] = l.send(free, first, rank)
		}
	}
	var last time.Duration
	for rank := range l.nodes {
		for _, c := range t.AppendChildren(nil, rank) {
			l.take(free, first, c.Rank, l.send(free, first, rank))
		}
		last = max(last, free[rank])
	}
	return last
}

// measureCastClimb measures goal G-RM-2: by how much the time until all acknowledgements have gone
// up the tree differs from the computed time.
func measureCastClimb(b *measurement) {
	const latency, work = 500 * time.Microsecond, 2 * time.Microsecond
	worst, where, runs := 0.0, "", 0
	for _, nodes := range pick(b, []int{2, 8, 31}, []int{2, 3, 5, 8, 13, 16, 31, 64, 100, 256, 512, 1000, 1024}, []int{2, 3, 5, 8, 13, 16, 31, 64, 100, 256, 257, 512, 700, 1000, 1023, 1024}) {
		n := castNet(rmcastsim.Config{
			Network: scenario.Network{Nodes: nodes, Topology: evenLinks(latency), CPU: sim.CPU{PerStep: work}}, Rmcast: calm, Manager: rmcast.ManagerConfig{Window: 2, Fragment: 64},
		})
		want := work + latency + work + time.Duration(casterTree(nodes).Depth(0))*(latency+work) // first a message is sent, takes the latency and is handled; then acknowledgements go up the tree
		for _, origin := range []sim.NodeID{0, sim.NodeID(nodes / 3)} {
			m := must(n.Send(origin, 32))
			b.check(nil)
			took := m.Elapsed() + work // this adds the time to handle the last acknowledgement
			off := 100 * (float64(took)/float64(want) - 1)
			if runs++; max(off, -off) >= worst {
				worst, where = max(off, -off), fmt.Sprintf("%d nodes: %v, %v by arithmetic", nodes, took, want)
			}
		}
	}
	b.add(line{
		what: "virtual time to completion, from multicast + depth (l + a), worst", ratio: worst, unit: "%", limit: 5,
		basis: fmt.Sprintf("%s; %d messages", where, runs),
	})
}
