package sim

import (
	"time"

	"ulnet/lnd/link"
)

// Verb is what is done to nodes or links.
type Verb uint8

// The verbs. They use the fields of [Act] that are named here, besides Verb and Changes.
const (
	Kill       Verb = iota // ends the process of Node
	Crash                  // ends the host of Node and its process
	Pause                  // pauses the process of Node
	Resume                 // lets the process of Node go on
	Skew                   // makes the clock of Node gain PPM microseconds per second
	Slow                   // makes each step of Node take Extra longer
	Partition              // separates the sets of nodes in Sets
	Cut                    // stops the messages from the nodes From to the nodes To
	Heal                   // ends the partition and all cuts
	SetLink                // changes the links from the nodes From to the nodes To by Change
	ResetLinks             // undoes all changes of links
	Stall                  // makes the messages from the nodes From to the nodes To wait for the time Extra
)

// Act is something that is done to nodes or links.
type Act struct {
	Verb Verb   // says which of the other fields are set
	Node NodeID // node that the act concerns
	// Changes says that the action changes the state of the node: it kills or crashes a node
	// that is up, pauses one that runs, or resumes one that is paused.
	Changes  bool
	PPM      int64         // clock skew in µs per second
	Extra    time.Duration // CPU time that each step takes longer, or length of a stall
	Sets     []NodeSet     // sides of the partition
	From, To NodeSet       // ends of the cut, of the stall, or of the links that change
	Change   link.Change   // change of the links' quality
}

// Ends reports whether the act ends an incarnation.
func (a *Act) Ends() bool { return (a.Verb == Kill || a.Verb == Crash) && a.Changes }

// Acts is a network that reports each act before it is done.
type Acts struct {
	Control
	// Around, if not nil, is called for each act before it is done, and does it by calling do.
	Around func(a *Act, do func())
}

func (b *Acts) act(a Act, do func()) {
	if b.Around == nil {
		do()
		return
	}
	b.Around(&a, do)
}

// Kill implements Control.
func (b *Acts) Kill(id NodeID) {
	b.act(Act{Verb: Kill, Node: id, Changes: b.Up(id)}, func() { b.Control.Kill(id) })
}

// Crash implements Control.
func (b *Acts) Crash(id NodeID) {
	b.act(Act{Verb: Crash, Node: id, Changes: b.Up(id)}, func() { b.Control.Crash(id) })
}

// Pause implements Control.
func (b *Acts) Pause(id NodeID) {
	b.act(Act{Verb: Pause, Node: id, Changes: b.Up(id) && !b.Paused(id)}, func() { b.Control.Pause(id) })
}

// Resume implements Control.
func (b *Acts) Resume(id NodeID) {
	b.act(Act{Verb: Resume, Node: id, Changes: b.Paused(id)}, func() { b.Control.Resume(id) })
}

// SetSkew implements Control.
func (b *Acts) SetSkew(id NodeID, ppm int64) {
	b.act(Act{Verb: Skew, Node: id, PPM: ppm}, func() { b.Control.SetSkew(id, ppm) })
}

// SetSlow implements Control.
func (b *Acts) SetSlow(id NodeID, extra time.Duration) {
	b.act(Act{Verb: Slow, Node: id, Extra: extra}, func() { b.Control.SetSlow(id, extra) })
}

// Partition implements Control.
func (b *Acts) Partition(sets ...NodeSet) {
	b.act(Act{Verb: Partition, Sets: sets}, func() { b.Control.Partition(sets...) })
}

// Cut implements Control.
func (b *Acts) Cut(from, to NodeSet) {
	b.act(Act{Verb: Cut, From: from, To: to}, func() { b.Control.Cut(from, to) })
}

// Heal implements Control.
func (b *Acts) Heal() { b.act(Act{Verb: Heal}, func() { b.Control.Heal() }) }

// Stall implements Control.
func (b *Acts) Stall(from, to NodeSet, d time.Duration) {
	b.act(Act{Verb: Stall, From: from, To: to, Extra: d}, func() { b.Control.Stall(from, to, d) })
}

// SetLink implements Control.
func (b *Acts) SetLink(from, to NodeSet, change link.Change) {
	b.act(Act{Verb: SetLink, From: from, To: to, Change: change}, func() { b.Control.SetLink(from, to, change) })
}

// ResetLinks implements Control.
func (b *Acts) ResetLinks() { b.act(Act{Verb: ResetLinks}, func() { b.Control.ResetLinks() }) }

var _ Control = (*Acts)(nil)
