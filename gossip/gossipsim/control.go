package gossipsim

import (
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// What is done to nodes and links passes through here, so that the truth
// hears of it.

// failed keeps the first error of a boot.
func (n *Net) failed(err error) {
	if n.err == nil {
		n.err = err
	}
}

// began notes that a life begins.
func (n *Net) began(life sim.Life, silent bool) {
	n.truth.start(life.Node, silent)
	if n.cfg.Log != nil {
		n.logStart(life)
	}
}

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

// Partition implements sim.Control.
func (n *Net) Partition(sets ...sim.NodeSet) {
	n.truth.links.partition(sets, n.Now())
	n.Control.Partition(sets...)
}

// Cut implements sim.Control.
func (n *Net) Cut(from, to sim.NodeSet) {
	n.truth.links.cut(from, to, n.Now())
	n.Control.Cut(from, to)
}

// Heal implements sim.Control.
func (n *Net) Heal() {
	n.truth.links.heal(n.Now())
	n.Control.Heal()
}

// SetLink implements sim.Control.
func (n *Net) SetLink(from, to sim.NodeSet, change link.Change) {
	if change.Fields&link.FieldDuplicate != 0 {
		n.pool.off = true
	}
	n.Control.SetLink(from, to, change)
}

// Start implements sim.Control.
func (n *Net) Start(id sim.NodeID, keep bool) bool { return n.Control.Start(id, keep) }

// never is an instant that has not come.
const never = time.Duration(-1)
