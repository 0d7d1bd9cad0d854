package scollsim

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// TestErring: SC-158: discovery that errs takes nodes for dead that stand still, that died, or from which no path leads
// to the observer, and no others. Each comes back with a higher lifetime; a new incarnation hears of the others first.
func TestErring(t *testing.T) {
	spec.Covers(t, "SC-158")
	n, err := New(Config{Network: scenario.Network{Nodes: 4, Topology: &sim.Flat{}}, Discovery: 100 * time.Millisecond, Errs: true})
	if err != nil {
		t.Fatal(err)
	}
	const all = "0123"
	for _, tt := range []struct {
		name  string
		do    func()
		wait  time.Duration
		alive [4]string // by node: the nodes that it takes for alive, besides itself
	}{
		{"nothing", func() {}, 500 * time.Millisecond, [4]string{"123", "023", "013", "012"}},
		{"node 2 stands still for a moment", func() { n.Pause(2); n.At(n.Now()+40*time.Millisecond, func() { n.Resume(2) }) }, 150 * time.Millisecond, [4]string{"123", "023", "013", "012"}},
		{"node 2 stands still", func() { n.Pause(2) }, 150 * time.Millisecond, [4]string{"13", "03", "013", "01"}},
		{"node 2 goes on", func() { n.Resume(2) }, 60 * time.Millisecond, [4]string{"123", "023", "013", "012"}},
		{"node 1 does not reach node 3, but by way of others", func() { n.Cut(sim.Nodes(1), sim.Nodes(3)) }, 150 * time.Millisecond, [4]string{"123", "023", "013", "012"}},
		{"node 1 reaches nobody", func() { n.Cut(sim.Nodes(1), sim.AllNodes) }, 150 * time.Millisecond, [4]string{"23", "023", "03", "02"}},
		{"node 1 reaches all again", func() { n.Heal() }, 60 * time.Millisecond, [4]string{"123", "023", "013", "012"}},
		{"two sides", func() { n.Partition(sim.Nodes(0, 1), sim.Nodes(2, 3)) }, 150 * time.Millisecond, [4]string{"1", "0", "3", "2"}},
		{"one again", func() { n.Heal() }, 60 * time.Millisecond, [4]string{"123", "023", "013", "012"}},
		{"node 0 restarts", func() { n.Kill(0); n.Control.Start(0, false) }, 1, [4]string{"", "023", "013", "012"}},
		{"the others learn of the death, and it of them", func() {}, 120 * time.Millisecond, [4]string{"123", "23", "13", "12"}},
		{"the others learn of the return", func() {}, 60 * time.Millisecond, [4]string{"123", "023", "013", "012"}},
	} {
		tt.do()
		if err := n.Run(n.Now() + tt.wait); err != nil {
			t.Fatal(err)
		}
		for id, want := range tt.alive {
			p := n.incarnations[id].(*program)
			var got []byte
			for other := range sim.NodeID(4) {
				if other != p.id && !p.isDead(other) {
					got = append(got, all[other])
				}
				if v := n.oracle.errs.Views[id][other]; other != p.id && v.Alive == p.isDead(other) {
					t.Errorf("%s: node %d was told otherwise of node %d than is recorded", tt.name, id, other)
				}
			}
			if string(got) != want {
				t.Errorf("%s: node %d takes %q for alive, want %q", tt.name, id, got, want)
			}
		}
	}
	var deaths []uint64
	for other := range 4 {
		deaths = append(deaths, n.oracle.errs.Views[3][other].Lifetime)
	}
	if want := []uint64{2, 2, 1, 0}; !slices.Equal(deaths, want) {
		t.Errorf("lifetimes for node 3: %v, want %v", deaths, want)
	}
}

// TestErringReasons: heldDead and disagreed, which excuse what a node does, hold from the time when discovery wrongly
// reports to it that another node is dead until it reports that one as back, and for no other nodes.
func TestErringReasons(t *testing.T) {
	n, err := New(Config{Network: scenario.Network{Nodes: 4, Topology: &sim.Flat{}}, Discovery: 100 * time.Millisecond, Errs: true})
	if err != nil {
		t.Fatal(err)
	}
	run := func(d time.Duration) {
		if err := n.Run(n.Now() + d); err != nil {
			t.Fatal(err)
		}
	}
	e, others := &n.oracle.errs, []sim.NodeID{0, 1, 2, 3}
	run(time.Second)
	n.Pause(2)
	run(150 * time.Millisecond)
	if e.heldDead(1, 3, 0) || !e.heldDead(1, 2, n.Now()) || e.heldDead(2, 1, 0) {
		t.Error("another node is held for dead than that which stands still, or by another one")
	}
	if e.disagreed(0, 1, others, n.Now()) || !e.disagreed(0, 2, others, n.Now()) {
		t.Error("those that hold node 2 for dead disagree, or it agrees with them")
	}
	n.Resume(2)
	run(60 * time.Millisecond)
	back := n.Now()
	if !e.heldDead(1, 2, back-60*time.Millisecond) || e.heldDead(1, 2, back) || !e.disagreed(0, 1, others, back-60*time.Millisecond) || e.disagreed(0, 2, others, back) {
		t.Error("node 2 was not held for dead until it came back")
	}
}
