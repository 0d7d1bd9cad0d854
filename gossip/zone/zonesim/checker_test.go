package zonesim

import (
	"testing"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// TestCheckerSees: the checker detects the removal of a healthy node, unless the network or the
// node itself gave a cause. It also detects joins and leaves that do not alternate.
func TestCheckerSees(t *testing.T) {
	const observer, subject = sim.NodeID(0), sim.NodeID(3)
	for _, tt := range []struct {
		name   string
		before func(n *Net)
		kind   engine.EventKind
		fine   bool // the run had no false removal
		turn   bool // joins and leaves alternate
	}{
		{"a healthy node is removed", func(*Net) {}, engine.Left, false, true},
		{"by one that is slow", func(n *Net) { n.SetSlow(observer, time.Second) }, engine.Left, false, true},
		{"by one that stood still", func(n *Net) { n.Pause(observer); n.Resume(observer) }, engine.Left, false, true},
		{"because of a partition", func(n *Net) { n.Partition(sim.Nodes(subject)) }, engine.Left, true, true},
		{"because it is slow", func(n *Net) { n.SetSlow(subject, time.Second) }, engine.Left, true, true},
		{"because it stood still", func(n *Net) { n.Pause(subject); n.Resume(subject) }, engine.Left, true, true},
		{"because of a cut elsewhere", func(n *Net) { n.Cut(sim.Nodes(1), sim.Nodes(2)) }, engine.Left, false, true},
		{"because of a cut on the way to it", func(n *Net) { n.Cut(sim.Nodes(observer), sim.Nodes(subject)) }, engine.Left, false, true},
		{"because of a cut on the way from it, past which others are", func(n *Net) { n.Cut(sim.Nodes(subject), sim.Nodes(observer)) }, engine.Left, false, true},
		{"because of a cut on all ways from it", func(n *Net) { n.Cut(sim.Nodes(subject), sim.AllNodes) }, engine.Left, true, true},
		{"because of a cut on all ways to it", func(n *Net) { n.Cut(sim.AllNodes, sim.Nodes(subject)) }, engine.Left, true, true},
		{"by its own side of a partition", func(n *Net) { n.Partition(sim.Nodes(1, 2), sim.Nodes(observer, subject, 4)) }, engine.Left, false, true},
		{"by the other side after a partition", func(n *Net) { n.Partition(sim.Nodes(1, subject)); n.Heal() }, engine.Left, true, true},
		{"by its own side after a partition", func(n *Net) { n.Partition(sim.Nodes(1, 2)); n.Heal() }, engine.Left, false, true},
		{"because it is down", func(n *Net) { n.Kill(subject) }, engine.Left, true, true},
		{"a member joins", func(*Net) {}, engine.Joined, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, err := New(Config{Network: scenario.Network{Nodes: 5, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: RTT / 2}}}}, Check: true})
			if err == nil {
				err = n.Run(20 * time.Second)
			}
			if err != nil {
				t.Fatal(err)
			}
			tt.before(n)
			r := n.groups[0].refs[subject]
			v, ok := n.Machine(observer).Has(r)
			if !ok {
				t.Fatal("the zone is not complete")
			}
			n.told(&n.incarnations[observer].(*program).member, &engine.Event{Kind: tt.kind, Cause: engine.Dead, Node: r, Version: v})
			if ok, why := n.Check("no-false-removal", scenario.Args{}); ok != tt.fine {
				t.Errorf("no-false-removal: %v, %s", ok, why)
			}
			if ok, why := n.Check("alternating", scenario.Args{}); ok != tt.turn {
				t.Errorf("alternating: %v, %s", ok, why)
			}
		})
	}
}
