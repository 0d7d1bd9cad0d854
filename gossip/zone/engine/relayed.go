package engine

import (
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
)

// relayed has the goodbyes of members that other nodes passed on. Any member can say goodbye in the name of
// another one, so a goodbye takes effect at once only if the leaving node itself sent it. This node passes on a
// goodbye that was passed on to it, but waits before it removes the node, until the node could have refuted the
// goodbye (MS-A3). The version in such a goodbye is the one in the view, or a newer one.
type relayed struct {
	list  []relayedGoodbye
	index map[wire.Ref]int // a node's index in list
	at    time.Duration    // when the first of the goodbyes takes effect
}

type relayedGoodbye struct {
	wire.Departure
	until     time.Duration // when the node is removed
	prolonged bool          // the time in the field until was put off, which happens only once, see prolong
}

// waits reports whether a goodbye of a node waits, and returns it.
func (r *relayed) waits(p wire.Ref) (relayedGoodbye, bool) {
	if r == nil {
		return relayedGoodbye{}, false
	}
	i, ok := r.index[p]
	if !ok {
		return relayedGoodbye{}, false
	}
	return r.list[i], true
}

// all returns the goodbyes that wait.
func (r *relayed) all() []relayedGoodbye {
	if r == nil {
		return nil
	}
	return r.list
}

// next returns when the time of the first goodbye is over.
func (r *relayed) next() time.Duration {
	if r == nil {
		return machine.Never
	}
	return r.at
}

// drop forgets the goodbye of a node, which waits.
func (r *relayed) drop(p wire.Ref) {
	i, last := r.index[p], len(r.list)-1
	delete(r.index, p)
	if r.list[i] = r.list[last]; i < last {
		r.index[r.list[i].Node] = i
	}
	r.list = r.list[:last]
}

// take is called when a member has the new version v, which refutes goodbyes in older versions. If such a goodbye
// waits, take drops and returns it.
func (r *relayed) take(p wire.Ref, v wire.Version) (relayedGoodbye, bool) {
	g, ok := r.waits(p)
	if !ok || !g.Version.Less(v) {
		return relayedGoodbye{}, false
	}
	r.drop(p)
	return g, true
}

// hold lets the goodbye of a member wait for relayGrace, and passes it on. If an older goodbye of the member
// waits already, a goodbye in a newer version replaces it and waits for the whole time again: perhaps the member
// took that newer version to refute the older goodbye.
func (m *Machine) hold(d *wire.Departure) {
	if m.relayed == nil {
		m.relayed = &relayed{index: make(map[wire.Ref]int), at: machine.Never}
	}
	r := m.relayed
	if g, ok := r.waits(d.Node); ok {
		if !g.Version.Less(d.Version) {
			return
		}
		r.drop(d.Node)
	}
	until := m.now + m.relayGrace()
	r.index[d.Node] = len(r.list)
	r.list = append(r.list, relayedGoodbye{Departure: *d, until: until})
	r.at = min(r.at, until)
	m.delta.leave(m, d)
}

// removeRelayed removes the nodes that have not refuted a goodbye in time.
func (m *Machine) removeRelayed() {
	r := m.relayed
	r.at = machine.Never
	for i := 0; i < len(r.list); {
		if g := r.list[i]; m.now < g.until {
			r.at = min(r.at, g.until)
			i++
		} else {
			m.remove(g.Node, g.Version, Said, g.Code) // this takes the goodbye out of the list
		}
	}
}

// relayGrace is the time that statements of others about a member wait: they reach the member over at most
// the diameter of the overlay, and its refutation comes back. All nodes pass both on early, see urgentParts.
func (m *Machine) relayGrace() time.Duration {
	return min(time.Duration(2*m.diameter()+2)*m.cfg.Aggregation/urgentParts, graceRounds*m.cfg.Aggregation)
}
