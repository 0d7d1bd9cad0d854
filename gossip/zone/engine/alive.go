package engine

import (
	"time"

	"ulnet/gossip/zone/wire"
)

// What follows is Algorithm 1 of the design, with the decisions MS-A1 to MS-A6.

// processAlive handles a version of a node (Alg. 1, line 1).
func (m *Machine) processAlive(p wire.Ref, v wire.Version) {
	if p == m.self {
		if m.ver.Less(v) { // only this node raises its version (MS-7): v is of another incarnation, or forged
			m.claimed(v)
			m.refute(v)
		}
		return
	}
	if !m.plausible(v) {
		m.tooFarAhead(p, v)
		m.keepAhead(p, v)
		return
	}
	switch e := m.view.at(p); {
	case e.state == inView && e.version().Less(v):
		m.renew(p, e, v)
	case e.state == inHistory && !e.version().Less(v): // stale (MS-14, MS-41)
		m.stats.Stale++
	case e.state != inView:
		m.enter(p, e, v)
	}
}

// maxSkew is how far the clocks of nodes may differ, in the unit of incarnations, for each
// to be able to refute every version that others accept.
const maxSkew = 1 << 32

// plausible reports whether another node can have a version, and refute it (MS-A2).
func (m *Machine) plausible(v wire.Version) bool { return m.within(v, 0) }

// within reports whether a version's incarnation is ahead of the wall clock by at most Config.Ahead plus
// skew. The wall clock is Config.Wall plus the time since the first step, including pauses and times in which
// the node was not a member; or Input.Wall if that is later. If the clock was set back and is far behind this
// node's own incarnation, within measures from that incarnation. It does so only then, because other nodes
// can raise this node's incarnation, and could otherwise move the limit up without end.
func (m *Machine) within(v wire.Version, skew uint64) bool {
	base := m.pauses.clock(m.cfg.Wall)
	if m.born > base+m.cfg.Ahead+2*maxSkew {
		base = m.born
	}
	return v.IsValid() && v.Inc < wire.MaxIncarnation && v.Inc <= base+m.cfg.Ahead+skew
}

// reportInterval is the least time between two FarAhead events, and between two Clash events of each
// reason. Without this limit, any node that can send to this one could cause any number of such events.
const reportInterval = time.Minute

// tooFarAhead counts a version that is refused, and reports it.
func (m *Machine) tooFarAhead(p wire.Ref, v wire.Version) {
	if m.stats.TooFarAhead++; m.now >= m.farAhead {
		m.farAhead = m.now + reportInterval
		m.tell(Event{Kind: FarAhead, Node: p, Version: v})
	}
}

// claimed counts a version with which another node claims this node's id, and reports it.
func (m *Machine) claimed(v wire.Version) {
	if m.stats.Clashes++; m.now >= m.claim {
		m.claim = m.now + reportInterval
		m.tell(Event{Kind: Clash, Node: m.self, Version: v})
	}
}

// enter puts a node into the view (Alg. 1, lines 2 and 3).
func (m *Machine) enter(p wire.Ref, e entry, v wire.Version) {
	if m.view.members >= m.cfg.MaxMembers {
		m.stats.ViewFull++
		return
	}
	if e.state == inHistory {
		delete(m.history.of, p)
		m.attributes.want(m, p) // ask for the node's attributes, which were dropped when it left the view (MS-A18)
	}
	m.view.set(p, entry{inc: v.Inc, minor: v.Minor, state: inView})
	if m.delta.alive(m, p); e.state == inHistory { // news of a return leaves as early as news of a removal (MS-105)
		m.delta.hasten(m)
	}
	m.joins(p, v)
}

// joins reports a node that is new in the view (NOTIFY-JOIN).
func (m *Machine) joins(p wire.Ref, v wire.Version) {
	m.tell(Event{Kind: Joined, Node: p, Version: v})
	m.joinedTwin(p)
	m.topology.changed(m)
	m.attributes.joined(m, p)
	if m.delegate != nil {
		m.delegate.memberJoined(m, p, v)
	}
	m.supervisor.joined = m.now
}

// leaves handles a member that left the view, or began another incarnation.
func (m *Machine) leaves(p wire.Ref, v wire.Version) {
	delete(m.announced, p)
	delete(m.filings, p)
	if m.cfg.Supervisor {
		m.supervisor.memberLeft(m, p)
	}
	m.attributes.drop(m, p)
	if m.delegate != nil {
		m.delegate.memberLeft(m, p, v)
	}
}

// renew raises the version of a member (Alg. 1, lines 4 to 9).
func (m *Machine) renew(p wire.Ref, e entry, v wire.Version) {
	if _, waits := m.relayed.waits(p); waits || len(m.suspicions.on(p)) > 0 {
		m.delta.refutation(m, p)
	} else {
		m.delta.alive(m, p)
	}
	m.suspicions.refuted(p, v)
	m.raise(p, e, v)
}

// raise is renew without sending the change to the neighbours.
func (m *Machine) raise(p wire.Ref, e entry, v wire.Version) {
	said, orderly := m.relayed.take(p, v)
	if e.inc == v.Inc { // only the minor number is new: no notification (MS-44, MS-A6)
		m.announce(p, e.minor)
		m.view.set(p, entry{inc: v.Inc, minor: v.Minor, state: inView})
		return
	}
	left := Event{Kind: Left, Node: p, Version: m.LastAnnounced(p, e.version()), Cause: Restarted}
	if orderly && said.Version.Inc == e.inc {
		left.Cause, left.Code = Said, said.Code
	}
	m.tell(left)
	m.leaves(p, e.version())
	m.view.set(p, entry{inc: v.Inc, minor: v.Minor, state: inView})
	m.joins(p, v)
}

// announce remembers the minor number of a node that listeners know, before the node's entry in the view gets
// a newer one.
func (m *Machine) announce(p wire.Ref, minor uint32) {
	if _, ok := m.announced[p]; ok {
		return
	}
	if m.announced == nil {
		m.announced = make(map[wire.Ref]uint32)
	}
	m.announced[p] = minor
}

// LastAnnounced returns the version of a node that listeners know (MS-A5).
func (m *Machine) LastAnnounced(p wire.Ref, v wire.Version) wire.Version {
	if minor, ok := m.announced[p]; ok {
		v.Minor = minor
	}
	return v
}

// accused handles a suspicion of this node, or a goodbye in its name: this node announces that
// it is alive in a newer version (Alg. 1, line 17). Its present version refutes suspicions of older
// versions (MS-A2), but its neighbours may not know that version yet.
func (m *Machine) accused(v wire.Version) {
	if v.Less(m.ver) {
		m.stats.Refuted++
		m.delta.refutes(m, m.self)
		return
	}
	m.refute(v)
}

// refute raises this node's version above v, and reports that. It also does so if v is a little too
// far ahead of this node's clock, because nodes whose clocks are a little ahead accept v. If v is
// even farther ahead, refute refuses it.
func (m *Machine) refute(v wire.Version) {
	if v.Inc > m.ver.Inc && !m.within(v, maxSkew) {
		m.tooFarAhead(m.self, v)
		return
	}
	if next := v.Next(); v.Inc > m.ver.Inc {
		m.setVersion(wire.Version{Inc: v.Inc + 1, Minor: 1})
	} else {
		m.setVersion(next)
	}
	m.delta.refutation(m, m.self)
	m.tell(Event{Kind: Refuted, Node: m.self, Version: m.ver})
}

// setVersion raises this node's version and sends it to all neighbours.
func (m *Machine) setVersion(v wire.Version) {
	if v.Inc != m.ver.Inc {
		m.attributes.renumber(m, v.Inc)
		m.out.Incarnation = v.Inc
	}
	m.ver = v
	m.view.set(m.self, entry{inc: v.Inc, minor: v.Minor, state: inView})
	m.delta.alive(m, m.self)
}

// bump raises this node's minor number (MS-19, MS-A7).
func (m *Machine) bump() {
	was := m.ver
	m.setVersion(was.Next())
	if m.ver.Inc != was.Inc { // the minor number was at its maximum, so the new version is of the next incarnation
		m.tell(Event{Kind: Refuted, Node: m.self, Version: m.ver})
	}
}
