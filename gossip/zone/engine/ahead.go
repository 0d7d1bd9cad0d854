package engine

import "ulnet/gossip/zone/wire"

// ahead has versions of members that are too far ahead of this node's clock to be accepted. A member has to take
// such a version if a node whose clock is ahead has accepted a forged version just below it. Until this node's
// clock is there, this node ignores reports and goodbyes in older versions: the member has refuted them by a
// version that this node cannot accept yet.
type ahead map[wire.Ref]wire.Version

// keepAhead keeps a version that this node refuses, and passes it on, if its owner can really have it. The owner
// takes versions up to maxSkew above the limit by its own clock, and that clock may be ahead of this node's by
// maxSkew.
func (m *Machine) keepAhead(p wire.Ref, v wire.Version) {
	if !m.view.has(p) || !m.within(v, 2*maxSkew) || !m.ahead[p].Less(v) {
		return
	}
	if m.ahead == nil {
		m.ahead = make(ahead)
	}
	m.ahead[p] = v
	m.relayed.take(p, v)
	m.suspicions.refuted(p, v)
	m.delta.refutation(m, p)
}

// overtaken reports whether a version of a member is older than the one in ahead. It first accepts that one if
// the clock allows it now.
func (m *Machine) overtaken(p wire.Ref, v wire.Version) bool {
	a, ok := m.ahead[p]
	if ok && m.plausible(a) {
		delete(m.ahead, p)
		m.processAlive(p, a)
		return false
	}
	return ok && v.Less(a)
}
