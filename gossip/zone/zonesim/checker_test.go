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
		{"by one that was slow for long, in which the node once stood still", func(n *Net) {
			n.SetSlow(observer, time.Millisecond)
			n.runOn(t, time.Second)
			n.Pause(subject)
			n.Resume(subject)
			n.runOn(t, 30*time.Second)
		}, engine.Left, false, true},
		{"by one that is so slow that it has not processed what came while the node stood still", func(n *Net) {
			n.SetSlow(observer, 2*time.Second)
			n.Pause(subject)
			n.Resume(subject)
			n.runOn(t, 20*time.Second)
		}, engine.Left, true, true},
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
			n := atRest(t)
			tt.before(n)
			n.tellOf(t, observer, subject, tt.kind, engine.Dead, 0)
			if ok, why := n.Check("no-false-removal", scenario.Args{}); ok != tt.fine {
				t.Errorf("no-false-removal: %v, %s", ok, why)
			}
			if ok, why := n.Check("alternating", scenario.Args{}); ok != tt.turn {
				t.Errorf("alternating: %v, %s", ok, why)
			}
		})
	}
}

// atRest returns a complete zone of five nodes.
func atRest(t *testing.T) *Net {
	t.Helper()
	n, err := New(Config{Network: scenario.Network{Nodes: 5, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: RTT / 2}}}}, Check: true})
	if err == nil {
		err = n.Run(20 * time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// runOn runs the net for some time.
func (n *Net) runOn(t *testing.T, d time.Duration) {
	t.Helper()
	if err := n.Run(n.Now() + d); err != nil {
		t.Fatal(err)
	}
}

// tellOf tells the net an event of the node observer about the node subject. The incarnation in the event is
// later than the present one of subject by the number in the parameter later.
func (n *Net) tellOf(t *testing.T, observer, subject sim.NodeID, kind engine.EventKind, cause engine.Cause, later int) {
	t.Helper()
	r := n.groups[0].refs[subject]
	v, ok := n.Machine(observer).Has(r)
	if !ok {
		t.Fatal("the zone is not complete")
	}
	v.Inc = n.incs[subject] + uint64(later)
	n.told(&n.incarnations[observer].(*program).member, &engine.Event{Kind: kind, Cause: cause, Node: r, Version: v})
}

// TestCheckerSeesIncarnations: the checker detects a removal because of a goodbye that the node did not say,
// whatever fault the node has, and the removal of an incarnation that has not ended.
func TestCheckerSeesIncarnations(t *testing.T) {
	const observer, subject = sim.NodeID(0), sim.NodeID(3)
	again := func(n *Net) {
		n.Kill(subject)
		n.Start(subject, false)
		n.runOn(t, 5*time.Second)
	}
	for _, tt := range []struct {
		name   string
		before func(n *Net)
		cause  engine.Cause
		later  int
		fine   bool
	}{
		{"a goodbye that it did not say", func(*Net) {}, engine.Said, 0, false},
		{"a goodbye that it did not say while it stood still", func(n *Net) { n.Pause(subject); n.Resume(subject) }, engine.Said, 0, false},
		{"a goodbye that it did not say while it was cut off", func(n *Net) { n.Partition(sim.Nodes(subject)) }, engine.Said, 0, false},
		{"its goodbye", func(n *Net) { n.faults.silent(subject, n.incs[subject]) }, engine.Said, 0, true},
		{"its goodbye, and it is back", again, engine.Said, -1, true},
		{"a later goodbye than its own", func(n *Net) { n.faults.silent(subject, n.incs[subject]) }, engine.Said, 1, false},
		{"an incarnation that has ended", again, engine.Dead, -1, true},
		{"the incarnation after that", again, engine.Dead, 0, false},
		{"an incarnation that it never had", again, engine.Dead, 1, false},
		{"an incarnation that it never had, while it was cut off", func(n *Net) { n.Partition(sim.Nodes(subject)) }, engine.Dead, 1, false},
		{"an incarnation that it raised", func(n *Net) { n.incs[subject]++ }, engine.Corrected, -1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := atRest(t)
			tt.before(n)
			n.faults.grace = min(n.faults.grace, time.Second) // the node was killed too long ago for that to be an excuse
			n.tellOf(t, observer, subject, engine.Left, tt.cause, tt.later)
			if ok, why := n.Check("no-false-removal", scenario.Args{}); ok != tt.fine {
				t.Errorf("no-false-removal: %v, %s", ok, why)
			}
		})
	}
}
