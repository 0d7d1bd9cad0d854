package engine

import (
	"math"

	"ulnet/gossip/zone/wire"
)

// What follows is the part of Algorithm 1 of the design about nodes that leave, see alive.go.

// processLeave processes a goodbye (Alg. 1, line 10).
func (m *Machine) processLeave(d *wire.Departure) {
	p, v := d.Node, d.Version
	if p == m.self { // a goodbye that this node did not say (MS-A3)
		m.accused(v)
		return
	}
	if !m.plausible(v) {
		m.leaveAhead(d)
		return
	}
	if !m.spoke(p) && m.overtaken(p, v) {
		m.stats.Stale++
		return
	}
	switch e := m.view.at(p); {
	case e.state == inView && !v.Less(e.version()) && !m.spoke(p): // another node says that the departing one has left
		m.hold(d)
		m.verify(p)
	case e.state == inView && !v.Less(e.version()): // the departing node is in the view
		m.remove(p, v, Said, d.Code)
		m.delta.leave(m, d)
	case e.state == inHistory && e.version().Less(v): // the departing node is in the history
		m.leftAgain(d)
	case e.state == unknown: // the goodbye arrived before the Alive, which must not add the node later (MS-A4)
		m.stranger(p, v, d.Code)
		m.delta.leave(m, d)
	default: // the goodbye is stale
		m.delta.refutes(m, p)
	}
}

// leftAgain processes a later goodbye of a former member, whose return this node has missed. If another node
// passes the goodbye on, leftAgain ignores it within relayGrace of the last such goodbye. Without this limit, a
// liar could invent goodbyes of a node, in newer and newer versions, faster than the node can refute them: each
// version with which the node returns would be older than the latest goodbye, and so be ignored by all nodes.
func (m *Machine) leftAgain(d *wire.Departure) {
	f := farewell{cause: Said, code: d.Code}
	if !m.spoke(d.Node) {
		if last := m.history.of[d.Node].relayed; last > 0 && m.now-last < m.relayGrace() {
			m.stats.Stale++
			return
		}
		f.relayed = m.now
	}
	m.bury(d.Node, d.Version, f)
	m.delta.leave(m, d)
}

// CodeRemoved is the exit code of a node that an administrator removed.
const CodeRemoved = math.MinInt32

// removeMember says goodbye in the name of a member. A member that runs refutes that, and is
// back at once (MS-A3).
func (m *Machine) removeMember(p wire.Ref) {
	if e := m.view.at(p); p != m.self && e.state == inView {
		m.remove(p, e.version(), Said, CodeRemoved)
		m.delta.leave(m, &wire.Departure{Node: p, Version: e.version(), Code: CodeRemoved})
	}
}

// remove takes a node out of the view: line 12 or 23 of Alg. 1, or MS-A9. If a goodbye of the node waits (see
// relayed), the node counts as one that said goodbye, even if it is removed for another cause.
func (m *Machine) remove(p wire.Ref, v wire.Version, cause Cause, code int32) {
	e := m.view.at(p)
	if said, ok := m.relayed.waits(p); ok {
		if cause != Said {
			cause, code = Said, said.Code
		}
		v = newer(v, said.Version)
		m.relayed.drop(p)
	}
	f := farewell{cause: cause, code: code}
	if cause == Dead {
		f.by = m.witnesses(p)
	}
	m.suspicions.forget(p)
	m.bury(p, newer(newer(v, e.version()), m.ahead[p].heard), f)
	m.tell(Event{Kind: Left, Node: p, Version: m.LastAnnounced(p, e.version()), Cause: cause, Code: code})
	m.leaves(p, e.version())
	m.unlink(p, cause)
	m.topology.changed(m)
}
