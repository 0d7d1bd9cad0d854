package main

import (
	"fmt"
	"time"

	"ulnet/gossip"
	"ulnet/gossip/gossipsim"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/scollsim"
	"ulnet/scoll/tree"
)

// deathWatch is a cluster of nodes with gossip and collectives in one stack.
type deathWatch struct {
	net    *scollsim.Net
	ids    []nid.NID
	victim sim.NodeID
	heard  []time.Duration // for each node, when gossip reported the death of the victim to it; 0 means not yet
}

// watchedView is the view by which the collectives of a node learn of deaths. It comes from the
// gossip of that node.
type watchedView struct {
	*gossip.Agent
	all *deathWatch
	id  sim.NodeID
}

// Watch implements scoll.View.
func (m watchedView) Watch(f func(id nid.NID, alive bool, lifetime uint64)) (stop func()) {
	return m.Agent.Watch(func(id nid.NID, alive bool, lifetime uint64) {
		if node, _ := simlnd.Node(id); !alive && node == m.all.victim && m.all.heard[m.id] == 0 {
			m.all.heard[m.id] = m.all.net.Now()
		}
		f(id, alive, lifetime)
	})
}

func newDeathWatch(nodes int, seed uint64, victim sim.NodeID) *deathWatch {
	m := &deathWatch{victim: victim, heard: make([]time.Duration, nodes)}
	for id := range sim.NodeID(nodes) {
		m.ids = append(m.ids, simlnd.NID(id))
	}
	m.net = must(scollsim.New(scollsim.Config{
		Network: scenario.Network{Nodes: nodes, Seed: seed, Topology: gossipsim.Flat(0)}, Stacks: true, View: m.view,
		Scoll: scoll.Config{RTT: 4 * time.Millisecond},
	}))
	return m
}

func (m *deathWatch) view(h *simlnd.Host, s *lnetsim.Stack) (scoll.View, error) {
	a, err := gossip.New(s.Table, gossip.Config{
		Participants: m.ids, Interval: gossipsim.Interval, Seed: h.Incarnation().Seed, ColdStart: true,
	})
	return watchedView{a, m, h.ID()}, err
}

// measureDeathNotice measures goal G-SC-7: an inner node dies while all others wait for a slow
// service below it, to which the time-outs give a minute.
func measureDeathNotice(b *measurement) {
	const nodes = 64
	shape := tree.Tree{Topology: tree.KNomial(2), N: nodes}
	worst, least, wrong, cases := 0.0, time.Hour, 0, 0
	for _, victim := range pick(b, []int{48}, []int{32, 16, 4, 48, 40, 56, 52}, []int{32, 16, 8, 4, 48, 40, 36, 24, 20, 56, 52, 60}) {
		for seed := range uint64(pick(b, 1, 3, 10)) {
			b.check(nil)
			m := newDeathWatch(nodes, seed, sim.NodeID(victim))
			below := shape.AppendSubtree(nil, victim)
			r, died := m.broadcast(b, sim.NodeID(below[len(below)-1]))
			cases++
			if !names(r, below) {
				wrong++
			}
			parent, _ := shape.Parent(victim)
			worst = max(worst, float64(r.Done-m.heard[parent])/float64(gossipsim.Interval))
			least = min(least, r.Done-died)
		}
	}
	basis := fmt.Sprintf("%d deaths, %d whole stacks with gossip every %v", cases, nodes, gossipsim.Interval)
	b.add(
		line{what: "death of an inner node: from the news at its parent to the root's result, worst", ratio: worst, unit: "cycles", limit: 1, basis: fmt.Sprintf("%s; the time-outs allow a minute, the first result came %.1f s after the death", basis, least.Seconds())},
		line{what: "the same: results that name another set than the subtree", ratio: float64(wrong), unit: "results", limit: 0, basis: basis},
	)
}

// broadcast crashes the victim during a broadcast.
func (m *deathWatch) broadcast(b *measurement, slow sim.NodeID) (r *scollsim.Broadcast, died time.Duration) {
	b.check(m.net.Run(10 * time.Second)) // time for gossip to tell each node that all others are alive
	b.check(m.net.Group("immediate"))
	m.net.Command(slow, "service slow 40s")
	r = m.net.Begin(0, "all 1m")
	b.check(m.net.Run(m.net.Now() + 300*time.Millisecond))
	died = m.net.Now()
	m.net.Crash(m.victim)
	b.check(m.net.Finish(r))
	return r, died
}

// names reports whether the root lists exactly the members in want as missing.
func names(r *scollsim.Broadcast, want []int) bool {
	missing := make(map[sim.NodeID]bool)
	for _, m := range r.Missing {
		missing[m.Node] = true
	}
	for _, rank := range want {
		if !missing[sim.NodeID(rank)] {
			return false
		}
	}
	return len(missing) == len(want) && len(r.Missing) == len(want)
}
