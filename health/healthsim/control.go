package healthsim

import (
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// happens has truth and oracle hear of what was done to nodes and links.
func (n *Net) happens(a *kit.Act, do func()) {
	do()
	t, id := &n.truth, a.Node
	switch a.Verb {
	case kit.Kill, kit.Crash:
		n.touch(id)
		if a.Changes {
			t.end(id, false)
			n.oracle.ended(id)
		}
	case kit.Pause:
		if a.Changes {
			t.pause(id)
		}
		n.touch(id)
	case kit.Resume:
		t.resume(id)
		if n.touch(id); a.Changes {
			n.oracle.resumed(id)
		}
	case kit.Partition:
		t.partition(a.Sets)
		n.oracle.changed()
	case kit.Cut:
		t.cut(a.From, a.To)
		n.oracle.changed()
	case kit.Heal:
		t.heal()
		n.oracle.changed()
	case kit.SetLink:
		t.change(rule{kit.Severed{From: a.From, To: a.To}, a.Change})
	case kit.ResetLinks:
		t.change()
	case kit.Skew:
		t.clock(id, a.PPM > 100_000 || a.PPM < -100_000)
	case kit.Slow:
		t.slowed(id, a.Extra > n.timing.Ping/100)
	}
}

// touch notes that something is done to a node.
func (n *Net) touch(id sim.NodeID) {
	n.truth.touch(id)
	n.oracle.changed()
}
