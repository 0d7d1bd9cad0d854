package healthsim

import (
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// What is done to nodes and links passes through here, so that truth and oracle
// hear of it.

// touch notes that something is done to a node.
func (n *Net) touch(id sim.NodeID) {
	n.truth.touch(id)
	n.oracle.changed()
}

// Kill implements sim.Control.
func (n *Net) Kill(id sim.NodeID) {
	up := n.Up(id)
	n.Control.Kill(id)
	n.ended(id, up)
}

// Crash implements sim.Control.
func (n *Net) Crash(id sim.NodeID) {
	up := n.Up(id)
	n.Control.Crash(id)
	n.ended(id, up)
}

func (n *Net) ended(id sim.NodeID, up bool) {
	n.touch(id)
	if up {
		n.truth.end(id, false)
		n.oracle.ended(id)
	}
}

// Pause implements sim.Control.
func (n *Net) Pause(id sim.NodeID) {
	if n.Up(id) && !n.Paused(id) {
		n.truth.pause(id)
	}
	n.Control.Pause(id)
	n.touch(id)
}

// Resume implements sim.Control.
func (n *Net) Resume(id sim.NodeID) {
	was := n.Paused(id)
	n.truth.resume(id)
	n.Control.Resume(id)
	if n.touch(id); was {
		n.oracle.resumed(id)
	}
}

// Partition implements sim.Control.
func (n *Net) Partition(sets ...sim.NodeSet) {
	n.truth.partition(sets)
	n.Control.Partition(sets...)
	n.oracle.changed()
}

// Cut implements sim.Control.
func (n *Net) Cut(from, to sim.NodeSet) {
	n.truth.cut(from, to)
	n.Control.Cut(from, to)
	n.oracle.changed()
}

// Heal implements sim.Control.
func (n *Net) Heal() {
	n.truth.heal()
	n.Control.Heal()
	n.oracle.changed()
}

// SetLink implements sim.Control.
func (n *Net) SetLink(from, to sim.NodeSet, change link.Change) {
	n.truth.change(rule{severed{from, to}, change})
	n.Control.SetLink(from, to, change)
}

// ResetLinks implements sim.Control.
func (n *Net) ResetLinks() {
	n.truth.change()
	n.Control.ResetLinks()
}

// SetSkew implements sim.Control.
func (n *Net) SetSkew(id sim.NodeID, ppm int64) {
	n.truth.clock(id, ppm > 100_000 || ppm < -100_000)
	n.Control.SetSkew(id, ppm)
}

// SetSlow implements sim.Control.
func (n *Net) SetSlow(id sim.NodeID, extra time.Duration) {
	n.truth.slowed(id, extra > n.timing.Ping/100)
	n.Control.SetSlow(id, extra)
}

var _ sim.Control = (*Net)(nil)
