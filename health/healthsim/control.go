package healthsim

import (
	"ulnet/lnd/sim"
)

// happens does what a scenario does to nodes and links, and records it in the ground truth and the
// oracle.
func (n *Net) happens(a *sim.Act, do func()) {
	do()
	t, id := &n.groundTruth, a.Node
	switch a.Verb {
	case sim.Kill, sim.Crash:
		n.touch(id)
		if a.Changes {
			t.end(id, false)
			n.oracle.ended(id)
		}
	case sim.Pause:
		if a.Changes {
			t.pause(id)
		}
		n.touch(id)
	case sim.Resume:
		t.resume(id)
		if n.touch(id); a.Changes {
			n.oracle.resumed(id)
		}
	case sim.Partition:
		t.partition(a.Sets)
		n.oracle.changed()
	case sim.Cut:
		t.cut(a.From, a.To)
		n.oracle.changed()
	case sim.Heal:
		t.heal()
		n.oracle.changed()
	case sim.SetLink:
		t.change(rule{sim.Severed{From: a.From, To: a.To}, a.Change})
	case sim.ResetLinks:
		t.change()
	case sim.Skew:
		t.clock(id, a.PPM > 100_000 || a.PPM < -100_000)
	case sim.Slow:
		t.slowed(id, a.Extra > n.timing.Ping/100)
	}
}

// touch records that something is done to a node.
func (n *Net) touch(id sim.NodeID) {
	n.groundTruth.touch(id)
	n.oracle.changed()
}
