package kit

import (
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// Verb is what is done to nodes or links.
type Verb uint8

// The verbs, with the fields of [Act] that they use besides those of nodes.
const (
	Kill       Verb = iota // Node
	Crash                  // Node
	Pause                  // Node
	Resume                 // Node
	Skew                   // Node, PPM
	Slow                   // Node, Extra
	Partition              // Sets
	Cut                    // From, To
	Heal                   //
	SetLink                // From, To, Change
	ResetLinks             //
)

// Act is something that is done to nodes or links.
type Act struct {
	Verb Verb
	Node sim.NodeID
	// Changes says that the state of the node changes: one that is killed or crashes is up,
	// one that is paused runs, one that is resumed is paused.
	Changes  bool
	PPM      int64
	Extra    time.Duration
	Sets     []sim.NodeSet
	From, To sim.NodeSet
	Change   link.Change
}

// Ends reports whether an incarnation ends.
func (a *Act) Ends() bool { return (a.Verb == Kill || a.Verb == Crash) && a.Changes }

func (b *Base) act(a Act, do func()) {
	if b.Around == nil {
		do()
		return
	}
	b.Around(&a, do)
}

// Kill implements sim.Control.
func (b *Base) Kill(id sim.NodeID) {
	b.act(Act{Verb: Kill, Node: id, Changes: b.Up(id)}, func() { b.Control.Kill(id) })
}

// Crash implements sim.Control.
func (b *Base) Crash(id sim.NodeID) {
	b.act(Act{Verb: Crash, Node: id, Changes: b.Up(id)}, func() { b.Control.Crash(id) })
}

// Pause implements sim.Control.
func (b *Base) Pause(id sim.NodeID) {
	b.act(Act{Verb: Pause, Node: id, Changes: b.Up(id) && !b.Paused(id)}, func() { b.Control.Pause(id) })
}

// Resume implements sim.Control.
func (b *Base) Resume(id sim.NodeID) {
	b.act(Act{Verb: Resume, Node: id, Changes: b.Paused(id)}, func() { b.Control.Resume(id) })
}

// SetSkew implements sim.Control.
func (b *Base) SetSkew(id sim.NodeID, ppm int64) {
	b.act(Act{Verb: Skew, Node: id, PPM: ppm}, func() { b.Control.SetSkew(id, ppm) })
}

// SetSlow implements sim.Control.
func (b *Base) SetSlow(id sim.NodeID, extra time.Duration) {
	b.act(Act{Verb: Slow, Node: id, Extra: extra}, func() { b.Control.SetSlow(id, extra) })
}

// Partition implements sim.Control.
func (b *Base) Partition(sets ...sim.NodeSet) {
	b.act(Act{Verb: Partition, Sets: sets}, func() { b.Control.Partition(sets...) })
}

// Cut implements sim.Control.
func (b *Base) Cut(from, to sim.NodeSet) {
	b.act(Act{Verb: Cut, From: from, To: to}, func() { b.Control.Cut(from, to) })
}

// Heal implements sim.Control.
func (b *Base) Heal() { b.act(Act{Verb: Heal}, func() { b.Control.Heal() }) }

// SetLink implements sim.Control.
func (b *Base) SetLink(from, to sim.NodeSet, change link.Change) {
	b.act(Act{Verb: SetLink, From: from, To: to, Change: change}, func() { b.Control.SetLink(from, to, change) })
}

// ResetLinks implements sim.Control.
func (b *Base) ResetLinks() { b.act(Act{Verb: ResetLinks}, func() { b.Control.ResetLinks() }) }

var _ sim.Control = (*Base)(nil)
