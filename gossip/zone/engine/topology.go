package engine

import (
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
)

// topology schedules when this node chooses its neighbours again (membership design, Topology).
type topology struct {
	at      time.Duration
	settled bool // the view has not changed since the last choice
}

// changed handles a change of the view: after the aggregation time τ this node chooses
// neighbours again. One choice serves all changes that arrive until then.
func (t *topology) changed(m *Machine) {
	t.settled = false
	t.later(m)
}

// later schedules the choice of neighbours for τ from now, or earlier if it is scheduled earlier.
func (t *topology) later(m *Machine) { t.at = min(t.at, m.now+m.cfg.Aggregation) }

// soon schedules the choice of neighbours for this step, because a neighbour was lost. In the first
// τ after the start it does nothing: other neighbours are about to come.
func (t *topology) soon(m *Machine) {
	if m.now >= m.began+m.cfg.Aggregation { // within the first τ other neighbours are still to come
		t.at = min(t.at, m.now)
	}
}

// chooseNeighbours opens links to the K_s successors on the ring and to K_r random members, and
// ends links that are no longer needed.
func (m *Machine) chooseNeighbours() {
	settled := m.topology.settled
	m.topology = topology{at: machine.Never, settled: true}
	if !settled {
		m.topology.at = m.now + m.cfg.Aggregation // choose once more, τ after the last change of the view
	}
	m.chooseSuccessors()
	if settled {
		m.redraw()
	}
	m.drawMissing()
	for i := 0; i < len(m.links.list); i++ {
		if l := &m.links.list[i]; l.mine|l.theirs == 0 {
			p := l.node
			m.send(p, wire.Message{Kind: wire.LinkDrop, Reason: wire.Unwanted})
			m.cut(p)
			i--
		}
	}
}

// chooseSuccessors chooses successors as a function of the view (MS-24, MS-27) and of which
// successors do not answer. While a successor that does not answer is in the view, this node also
// monitors the member after that successor. Otherwise each of two dead neighbours could be the only
// monitor of the other (MS-26). If many successors in a row do not answer, this node asks as many
// more at once, so that a few survivors find all dead nodes in a few rounds.
func (m *Machine) chooseSuccessors() {
	t := m.cfg.Table
	var silent, want bitmap
	for i := range m.links.list {
		if l := &m.links.list[i]; l.silent(m) {
			silent.set(l.node)
		}
	}
	quiet, others := 0, 0
	for i, at := 1, t.rank(m.self); i < len(t.ring) && others < max(m.cfg.Successors, quiet); i++ {
		p := t.ring[(at+i)%len(t.ring)]
		if !m.view.has(p) {
			continue
		}
		want.set(p)
		if silent.has(p) {
			quiet++
		} else {
			others++
			m.wantLink(p, wire.Successor)
		}
	}
	for i := range m.links.list {
		switch l := &m.links.list[i]; {
		case !want.has(l.node) && l.mine&wire.Successor != 0:
			m.unwant(l, wire.Successor)
		case want.has(l.node):
			l.mine |= wire.Successor
		}
	}
}

// silent reports whether a peer does not answer: its answer is overdue, or was missing the last
// time.
func (l *link) silent(m *Machine) bool {
	switch l.state {
	case up:
		return false
	case connecting:
		return l.backoff > m.cfg.Heartbeat || m.now-(l.due-m.cfg.Timeout) >= m.cfg.Heartbeat
	}
	return true
}

// wantLink adds a role for which this node wants the link to a node, and opens the link if
// there is none.
func (m *Machine) wantLink(p wire.Ref, role wire.Roles) {
	l := m.links.get(p)
	switch {
	case l == nil:
		m.open(p, role, 0)
	case l.mine&role == 0:
		l.mine |= role
		l.drawn = uint32(m.view.members)
		if l.state == up {
			m.send(p, wire.Message{Kind: wire.LinkRequest, Roles: l.mine}) // the request makes the peer keep the link
		}
	}
}

// unwant removes a role for which this node wants a link. The link stays if another role is
// left, or the peer wants it.
func (m *Machine) unwant(l *link, role wire.Roles) {
	l.mine &^= role
	if l.mine == 0 && l.theirs != 0 {
		m.send(l.node, wire.Message{Kind: wire.LinkDrop, Reason: wire.Unwanted})
	}
}

// redraw gives up random neighbours that were drawn while the view was much smaller. If it kept
// them, the overlay would consist of clusters (MS-25).
func (m *Machine) redraw() {
	for i := range m.links.list {
		if l := &m.links.list[i]; l.mine&wire.Random != 0 && m.view.members*2 >= int(l.drawn)*3 {
			m.unwant(l, wire.Random)
		}
	}
}

// drawMissing draws random neighbours until there are K_r.
func (m *Machine) drawMissing() {
	missing := m.cfg.Random
	for i := range m.links.list {
		if l := &m.links.list[i]; l.mine&wire.Random != 0 && l.state <= up {
			missing--
		}
	}
	for ; missing > 0; missing-- {
		p := m.draw(0)
		if p == 0 {
			return
		}
		m.wantLink(p, wire.Random)
	}
}

// draw returns a random member to which this node has no link; 0 if there is none. It never returns
// the node in the parameter except.
func (m *Machine) draw(except wire.Ref) wire.Ref {
	ring := m.cfg.Table.ring
	free := func(p wire.Ref) bool {
		return p != m.self && p != except && m.view.has(p) && m.links.get(p) == nil
	}
	for range 16 {
		if p := ring[m.rand(len(ring))]; free(p) {
			return p
		}
	}
	begin := m.rand(len(ring))
	for i := range ring {
		if p := ring[(begin+i)%len(ring)]; free(p) {
			return p
		}
	}
	return 0
}
