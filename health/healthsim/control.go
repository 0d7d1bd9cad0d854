package healthsim

import (
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// What is done to nodes and links passes through here, so that truth and oracle
// hear of it.

// touch notes that something is done.
func (n *Net) touch() {
	n.truth.touched = n.Now()
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
	n.touch()
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
	n.touch()
}

// Resume implements sim.Control.
func (n *Net) Resume(id sim.NodeID) {
	was := n.Paused(id)
	n.truth.resume(id)
	n.Control.Resume(id)
	if n.touch(); was {
		n.oracle.resumed(id)
	}
}

// Partition implements sim.Control.
func (n *Net) Partition(sets ...sim.NodeSet) {
	n.truth.partition(sets)
	n.Control.Partition(sets...)
	n.touch()
}

// Cut implements sim.Control.
func (n *Net) Cut(from, to sim.NodeSet) {
	n.truth.cuts = append(n.truth.cuts, severed{from, to})
	n.truth.separated()
	n.Control.Cut(from, to)
	n.touch()
}

// Heal implements sim.Control.
func (n *Net) Heal() {
	n.truth.heal()
	n.Control.Heal()
	n.touch()
}

// SetLink implements sim.Control.
func (n *Net) SetLink(from, to sim.NodeSet, change link.Change) {
	n.truth.quality(change.To)
	n.Control.SetLink(from, to, change)
	n.touch()
}

// SetSkew implements sim.Control. Clocks that are wrong by a tenth are nobody's
// fault.
func (n *Net) SetSkew(id sim.NodeID, ppm int64) {
	if ppm > 100_000 || ppm < -100_000 {
		n.truth.unlucky = true
	}
	n.Control.SetSkew(id, ppm)
	n.touch()
}

// SetSlow implements sim.Control.
func (n *Net) SetSlow(id sim.NodeID, extra time.Duration) {
	if extra > n.timing.Ping/100 {
		n.truth.unlucky = true
	}
	n.Control.SetSlow(id, extra)
	n.touch()
}

var _ sim.Control = (*Net)(nil)
