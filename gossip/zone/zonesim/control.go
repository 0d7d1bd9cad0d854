package zonesim

import (
	"time"

	"ulnet/lnd/sim"
)

// What is done to nodes and links passes through here, so that the truth hears of it.

// Kill implements sim.Control.
func (n *Net) Kill(id sim.NodeID) {
	if n.Up(id) {
		n.truth.end(id)
	}
	n.Control.Kill(id)
}

// Crash implements sim.Control.
func (n *Net) Crash(id sim.NodeID) {
	if n.Up(id) {
		n.truth.end(id)
	}
	n.Control.Crash(id)
}

// Pause implements sim.Control.
func (n *Net) Pause(id sim.NodeID) {
	if n.Up(id) && !n.Paused(id) {
		n.truth.pause(id)
	}
	n.Control.Pause(id)
}

// Resume implements sim.Control.
func (n *Net) Resume(id sim.NodeID) {
	if n.Paused(id) {
		n.truth.resume(id)
	}
	n.Control.Resume(id)
}

// SetSlow implements sim.Control.
func (n *Net) SetSlow(id sim.NodeID, extra time.Duration) {
	n.truth.slow(id, extra > 0)
	n.Control.SetSlow(id, extra)
}

// Partition implements sim.Control.
func (n *Net) Partition(sets ...sim.NodeSet) {
	n.truth.partition(sets)
	n.Control.Partition(sets...)
}

// Cut implements sim.Control.
func (n *Net) Cut(from, to sim.NodeSet) {
	n.truth.cut(from, to)
	n.Control.Cut(from, to)
}

// Heal implements sim.Control.
func (n *Net) Heal() {
	n.truth.heal()
	n.Control.Heal()
}

var _ sim.Control = (*Net)(nil)
