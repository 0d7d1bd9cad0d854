package gossipsim

import (
	"math"
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/gossip/engine"
	gossipwire "ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
)

// inject delivers a ping in the name of the node from, with a given clock. The ping says that
// its sender has heard of no other node.
func inject(n *Net, to, from sim.NodeID, clock uint64) {
	p := n.incarnations[to].(*program)
	h := gossipwire.Header{N: uint32(p.m.Len()), Clock: clock}
	data := h.AppendTo(nil)
	for i := range p.m.Len() {
		age := byte(255)
		if sim.NodeID(i) == from {
			age = 0
		}
		data = append(data, age)
	}
	n.out.Reset()
	p.m.Step(n.Now(), engine.Input{Kind: engine.Ping, From: simlnd.NID(from), Data: data}, &n.out)
}

// TestClockJump (GO-66, GO-A10): nodes that are in sync refuse impossible clocks; newcomers
// join a cluster whose clock has run for months.
func TestClockJump(t *testing.T) {
	spec.Covers(t, "GO-66", "GO-A10")
	const nodes, months = 8, 1_000_000_000
	n, err := New(Config{
		Network: scenario.Network{Nodes: nodes, Seed: 1, Topology: Flat(0.01), StartAt: func(id sim.NodeID) time.Duration { return time.Duration(id) / (nodes - 1) * 20 * time.Second }}, Gossip: gossip.Config{Interval: Interval, ColdStart: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	run := func(until time.Duration) {
		t.Helper()
		if err := n.Run(until); err != nil {
			t.Fatal(err)
		}
	}
	run(0)
	for id := range sim.NodeID(nodes - 1) {
		inject(n, id, (id+1)%(nodes-1), months)
	}
	run(10 * time.Second)
	for id := range sim.NodeID(nodes - 1) {
		if c := n.Clock(id); c < months || c > months+1000 {
			t.Errorf("node %v has clock %d before anybody was in sync, want %d and some", id, c, months)
		}
	}
	for _, clock := range []uint64{1 << 62, math.MaxUint64, 2*months + 1<<21} {
		before := n.Clock(1)
		inject(n, 1, 2, clock)
		if after := n.Clock(1); after != before {
			t.Errorf("clock %d moved a node in sync from %d to %d", clock, before, after)
		}
	}
	run(30 * time.Second)
	if ok, why := n.AliveExactly(nodes, sim.AllNodes); !ok {
		t.Errorf("ten seconds after a newcomer came: %s", why)
	}
}

// TestForgedClocks (GO-66): two pings with forged senders and any clock neither put a node out
// of step nor make a node appear dead, over links with loss and delay. A restarted node finds
// all others.
func TestForgedClocks(t *testing.T) {
	spec.Covers(t, "GO-66")
	const nodes = 24
	for i, clock := range []uint64{math.MaxUint64, 1 << 62, 1 << 40, 1<<40 - 1, 1<<20 + 5000, 5000, 41, 0} {
		n, err := New(Config{
			Network: scenario.Network{Nodes: nodes, Seed: uint64(i), Topology: Flat(0.05)}, Gossip: gossip.Config{Interval: Interval, ColdStart: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		run := func(until time.Duration) {
			t.Helper()
			if err := n.Run(until); err != nil {
				t.Fatal(err)
			}
		}
		check := func(when string) {
			t.Helper()
			if ok, why := n.AliveExactly(nodes, sim.AllNodes); !ok {
				t.Errorf("clock %#x, %s: %s", clock, when, why)
			}
			for id := range sim.NodeID(nodes) {
				if c := n.Clock(id); c > 10_000 {
					t.Errorf("clock %#x, %s: node %v has clock %d", clock, when, id, c)
				}
			}
		}
		run(10 * time.Second)
		for victim := range sim.NodeID(4) {
			ahead := clock
			if clock > 0 && clock < 1<<40-1 {
				ahead += n.Clock(victim)
			}
			inject(n, victim, victim+8, ahead)
			inject(n, victim, victim+9, ahead)
		}
		run(20 * time.Second)
		check("after the attack")
		n.Kill(0)
		run(30 * time.Second)
		n.Start(0, false)
		run(50 * time.Second)
		check("after the restart of a victim")
	}
}
