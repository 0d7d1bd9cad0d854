package engine

import (
	"maps"
	"slices"
	"time"

	"ulnet/gossip/zone/wire"
)

// ahead has versions of members that are too far ahead of this node's clock to be accepted. A member has to take
// such a version if a node whose clock is ahead has accepted a forged version just below it.
//
// Any member can name such a version, also one that its owner will never have. A goodbye or report about an older
// version is therefore ignored as stale only if the owner itself has sent the newer version. If only others named
// the newer version, this node asks the owner for its version when a goodbye or report about it is passed on, and
// the answer refutes the goodbye or report.
type ahead map[wire.Ref]farVersion

type farVersion struct {
	heard wire.Version  // the newest one that came from the owner itself; invalid: none
	named wire.Version  // the newest one that others named; invalid: none
	asked time.Duration // before this time this node does not ask the owner again
}

// keepAhead keeps a version that this node refuses, and passes it on, if its owner can really have it. The owner
// takes versions up to maxSkew above the limit by its own clock, and that clock may be ahead of this node's by
// maxSkew.
func (m *Machine) keepAhead(p wire.Ref, v wire.Version) {
	if !m.view.has(p) || !m.within(v, 2*maxSkew) {
		return
	}
	a := m.ahead[p]
	if m.spoke(p) {
		m.relayed.take(p, v)
		m.suspicions.refuted(p, v)
		if !a.heard.Less(v) {
			return
		}
		a.heard = v
	} else {
		if !a.heard.Less(v) || !a.named.Less(v) {
			return
		}
		a.named = v
	}
	m.setAhead(p, a)
	m.delta.refutation(m, p)
	if _, waits := m.relayed.waits(p); waits || len(m.suspicions.on(p)) > 0 {
		m.verify(p)
	}
}

func (m *Machine) setAhead(p wire.Ref, a farVersion) {
	if m.ahead == nil {
		m.ahead = make(ahead)
	}
	m.ahead[p] = a
}

// verify asks a member for its version, at most urgentParts times per round, because a goodbye or report about the
// member was passed on. It does nothing unless a version of the member is known that is too far ahead of this
// node's clock.
func (m *Machine) verify(p wire.Ref) {
	a, ok := m.ahead[p]
	if !ok || m.now < a.asked {
		return
	}
	a.asked = m.now + m.cfg.Aggregation/urgentParts
	m.ahead[p] = a
	accused := m.view.at(p).version()
	if g, waits := m.relayed.waits(p); waits {
		accused = newer(accused, g.Version)
	}
	m.sendSummons(&summons{node: p, version: accused, until: m.now})
}

// overtaken reports whether version v of a member is older than the version in ahead that came from the member
// itself. If the clock has come so far that the version in ahead can be accepted, overtaken accepts it, and returns
// false.
func (m *Machine) overtaken(p wire.Ref, v wire.Version) bool {
	a := m.ahead[p].heard
	if a.IsValid() && m.plausible(a) {
		delete(m.ahead, p)
		m.processAlive(p, a)
		return false
	}
	return v.Less(a)
}

// catchUp goes through the versions in ahead that this node's clock has caught up with, so that they are plausible
// now. It accepts those that came from the members themselves. It forgets those that only other members named: if a
// member really has such a version, the clocks of its neighbours allow it by now, too, and they pass it on.
func (m *Machine) catchUp() {
	for _, p := range slices.Sorted(maps.Keys(m.ahead)) {
		a := m.ahead[p]
		if a.named.IsValid() && m.plausible(a.named) {
			a.named = wire.Version{}
			m.ahead[p] = a
		}
		if a.heard.IsValid() && m.plausible(a.heard) {
			m.processAlive(p, a.heard)
			a.heard = wire.Version{}
			m.ahead[p] = a
		}
		if !a.named.IsValid() && !a.heard.IsValid() {
			delete(m.ahead, p)
		}
	}
}

// leaveAhead processes the goodbye of a member in a version that is a little too far ahead of this node's clock:
// the member may have had to take that version. If another node passes the goodbye on, this node asks the member,
// whose answer refutes the goodbye even in an older version (see denied).
func (m *Machine) leaveAhead(d *wire.Departure) {
	p, v := d.Node, d.Version
	switch {
	case !m.view.has(p) || !m.within(v, 2*maxSkew):
		m.tooFarAhead(p, v)
	case m.spoke(p):
		m.remove(p, v, Said, d.Code)
		m.delta.leave(m, d)
	case m.overtaken(p, v):
		m.stats.Stale++
	case m.within(v, maxSkew):
		a := m.ahead[p]
		a.named = newer(a.named, v)
		m.setAhead(p, a)
		m.hold(d)
		m.verify(p)
	default:
		m.tooFarAhead(p, v)
	}
}

// denied drops the goodbye of the sender of a message, if another node passed it on in a version that is too
// far ahead of this node's clock: the sender runs, and may be unable to take a newer version.
func (m *Machine) denied() {
	p := m.in.From
	if g, waits := m.relayed.waits(p); waits && !m.plausible(g.Version) && m.spoke(p) {
		m.relayed.drop(p)
		m.stats.Stale++
	}
}

// latest returns the newest version of a node that this node passes on.
func (m *Machine) latest(p wire.Ref, e entry) wire.Version {
	a := m.ahead[p]
	return newer(newer(e.version(), a.heard), a.named)
}
