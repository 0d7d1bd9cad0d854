package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll"
	"ulnet/scoll/scollsim"
	"ulnet/scoll/tree"
)

// measureMessages measures goal G-SC-4: the number of messages of a broadcast.
func measureMessages(b *measurement) {
	nodes := pick(b, 16, 100, 200)
	for _, bulk := range []int{0, 1 << 20} {
		sent := stackMessages(b, nodes, bulk)
		kinds := machineMessages(nodes, bulk)
		basis := fmt.Sprintf("%d nodes, as LNet counts them; machines sent %d requests, %d replies and %d GETs with %d answers",
			nodes, kinds[scollsim.Request], kinds[scollsim.Reply], kinds[scollsim.Get], kinds[scollsim.Data])
		l := line{what: "messages of a broadcast without bulk data, to 2 (N-1)", ratio: float64(sent) / float64(2*(nodes-1)), limit: 1, basis: fmt.Sprintf("%d; %s", sent, basis)}
		if bulk > 0 {
			gets := float64(sent-2*uint64(nodes-1)) / 2
			l.what, l.ratio = "GETs of a broadcast with 1 MiB of bulk data, to N-1", gets/float64(nodes-1)
		}
		b.add(l)
	}
}

// stackMessages returns the number of LNet messages that a broadcast takes when the members know
// the group and connections are open.
func stackMessages(b *measurement, nodes, bulk int) uint64 {
	n, _ := must2(scollsim.Measured(scollsim.Config{
		Network: scenario.Network{Nodes: nodes, Topology: evenLinks(100 * time.Microsecond)}, Stacks: true, Scoll: scoll.Config{RTT: 10 * time.Millisecond},
	}, "immediate", ""))
	before := n.Sent()
	r := must(n.Broadcast(0, fmt.Sprintf("all 1s %d 2048", bulk)))
	if len(r.Answered) != nodes-1 {
		b.check(fmt.Errorf("%d of %d members answered", len(r.Answered), nodes-1))
	}
	return n.Sent() - before
}

// machineMessages counts by kind the messages that state machines without a network stack send
// for a broadcast.
func machineMessages(nodes, bulk int) (kinds [scollsim.Data + 1]int) {
	must2(scollsim.Measured(scollsim.Config{
		Network: scenario.Network{Nodes: nodes, Topology: evenLinks(100 * time.Microsecond)}, Scoll: scoll.Config{RTT: 10 * time.Millisecond},
		Tap: func(_, _ sim.NodeID, k scollsim.Kind) { kinds[k]++ },
	}, "oob", fmt.Sprintf("all 1s %d 2048", bulk)))
	return kinds
}

// Tree size and rank for which the arithmetic is measured.
const (
	arithmeticNodes = 1_000_000
	arithmeticRank  = 777_777
)

// measureArithmetic measures goal G-SC-5: the time to compute the position of a rank in a tree, and
// the simulation of a broadcast in a large group.
func measureArithmetic(b *measurement) {
	calls := pick(b, 1000, 200_000, 1_000_000)
	var locating, children, allocations float64
	var slowest, slowestChildren tree.Topology
	buffer, sum := make([]tree.Child, 0, 1024), 0
	for k := 1; k <= 16; k++ {
		for _, topology := range []tree.Topology{tree.KNomial(max(k, 2)), tree.KAry(k)} {
			t := tree.Tree{Topology: topology, N: arithmeticNodes, Root: 12_345}
			if k == 1 && topology == tree.KAry(1) {
				continue // chains are skipped, because their depth is their length
			}
			at := func() { sum += locate(t) }
			ordered := func() { buffer = t.AppendChildren(buffer[:0], t.Root) }
			if ns := perCall(calls, at); ns > locating {
				locating, slowest = ns, topology
			}
			if ns := perCall(calls/10, ordered); ns > children {
				children, slowestChildren = ns, topology
			}
			allocations = max(allocations, allocationsOf(100, func() { at(); ordered() }))
		}
	}
	basis := fmt.Sprintf("N %d, K to 16, median of 5 times %d calls", arithmeticNodes, calls)
	b.add(
		line{what: "parent, size and depth of a rank, together, slowest topology", ratio: locating / 1e3, unit: "us", limit: 1, basis: fmt.Sprintf("%v; %s", slowest, basis)},
		line{what: "ordered children of the root, slowest topology", ratio: children / 1e3, unit: "us", limit: 10, basis: fmt.Sprintf("%v; %s", slowestChildren, basis)},
		line{what: "allocations of all of these", ratio: allocations, unit: "allocations", limit: 0, basis: basis},
	)
	if sum == 0 {
		b.check(errors.New("no rank has a parent"))
	}
	measureLarge(b, pick(b, 4096, 65_536, 65_536))
}

// locate computes where a rank is in the tree: its parent, the size of its subtree, and its
// depth.
func locate(t tree.Tree) int {
	parent, _ := t.Parent(arithmeticRank)
	return parent + t.Size(arithmeticRank) + t.Depth(arithmeticRank)
}

// perCall returns how many nanoseconds a call of f takes, as the median of five rounds.
func perCall(calls int, f func()) float64 {
	var rounds []float64
	for range 5 {
		begin := time.Now()
		for range calls {
			f()
		}
		rounds = append(rounds, float64(time.Since(begin))/float64(calls))
	}
	return median(rounds)
}

// measureLarge simulates a broadcast with answers in a large group.
func measureLarge(b *measurement, nodes int) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	begin := time.Now()
	n, r := must2(scollsim.Measured(scollsim.Config{
		Network: scenario.Network{Nodes: nodes, Seed: 1, Topology: jitteredLinks(time.Millisecond)}, Tree: scoll.Tree{Type: scoll.KNomial, K: 4},
		Overhead: unitOverhead, Scoll: scoll.Config{RTT: 20 * time.Millisecond},
	}, "oob", ""))
	took := time.Since(begin)
	if len(r.Answered) != nodes-1 {
		b.check(fmt.Errorf("%d of %d members answered", len(r.Answered), nodes-1))
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(n)
	what := fmt.Sprintf("broadcast with answer to %d nodes in virtual time", nodes)
	b.add(
		line{what: what + ", with their start", ratio: took.Seconds(), unit: "s", limit: 10, basis: fmt.Sprintf("the broadcast takes %.1f ms of virtual time, %d steps in all", r.Elapsed().Seconds()*1e3, n.Stats().Steps)},
		line{what: what + ", memory", ratio: float64(m.Sys-m.HeapReleased) / (1 << 30), unit: "GiB", limit: 2, basis: fmt.Sprintf("%.2f GiB live", float64(m.HeapAlloc)/(1<<30))},
	)
}
