package engine

import "ulnet/gossip/zone/wire"

// request asks a peer for a link.
func (m *Machine) request(l *link) {
	l.state, l.probing, l.local = connecting, false, false
	l.tries = min(l.tries+1, maxTries)
	l.due, l.said = m.now+m.cfg.Timeout, m.ver
	m.send(l.node, wire.Message{Kind: wire.LinkRequest, Roles: l.mine})
}

// establish brings a link up and sends the whole view (MS-53). It does not send the view if the link was already
// up and this incarnation of the peer has got the view.
func (m *Machine) establish(l *link, v wire.Version) {
	again := l.state == up && l.greeted
	l.state, l.probing, l.doubted, l.local, l.version = up, false, false, false, v
	l.heard, l.backoff, l.hops = m.now, m.cfg.Heartbeat, 0
	l.last, l.met, l.tries = m.now, true, 0
	if m.blind.muted {
		m.confirmed()
	}
	if again {
		return
	}
	l.greeted, l.repair, l.tables = true, agreement{}, agreement{}
	m.sendBase(l, 0)
	m.attributes.greet(m, l)
}

// requested answers a request for a link.
func (m *Machine) requested() {
	p, l := m.in.From, m.links.get(m.in.From)
	switch e := m.view.at(p); {
	case e.state == unknown: // the sender could not be added: the view is full, or the sender's version is too far ahead
		m.answer(wire.Message{Kind: wire.LinkRefuse, Reason: wire.Busy})
		return
	case e.state == inHistory:
		m.refuseStranger(p)
		return
	}
	if l == nil {
		if m.in.Roles == 0 || m.crowded(m.in.Roles) {
			return
		}
		m.links.list = append(m.links.list, link{node: p, backoff: m.cfg.Heartbeat})
		m.out.Watch = append(m.out.Watch, p)
		l = m.links.get(p)
		m.genuine(l)
	}
	l.theirs = m.in.Roles
	m.send(p, wire.Message{Kind: wire.LinkAccept, Roles: l.mine})
	m.establish(l, m.in.Version)
}

// refuseStranger tells the sender of a message that it was removed, if it is in the history.
func (m *Machine) refuseStranger(p wire.Ref) {
	if e := m.view.at(p); e.state == inHistory {
		m.answer(wire.Message{Kind: wire.LinkRefuse, Reason: wire.Removed, About: p, AboutVersion: e.version()})
	}
}

// crowded refuses a link, and returns true, if this node has too many (MS-A12). It bounds the
// peers that drew this node at random, and the peers that consider it their successor. If too many
// consider it their successor, it refuses the one that is farthest behind this node on the ring: the sender
// of the request, or a peer that has a link already.
func (m *Machine) crowded(roles wire.Roles) bool {
	var drawn, before int
	for i := range m.links.list {
		switch t := m.links.list[i].theirs; {
		case t&wire.Successor != 0:
			before++
		case t != 0:
			drawn++
		}
	}
	switch {
	case roles&wire.Successor == 0 && drawn >= 2*m.cfg.Random+2:
		if other := m.draw(m.in.From); other != 0 {
			m.send(m.in.From, wire.Message{Kind: wire.LinkRefuse, Reason: wire.Redirect, About: other, AboutVersion: m.view.at(other).version()})
			return true
		}
		m.send(m.in.From, wire.Message{Kind: wire.LinkRefuse, Reason: wire.Busy})
		return true
	case roles&wire.Successor != 0 && before >= maxPredecessors(m.cfg.Successors):
		far := m.farthest()
		if far == m.in.From {
			m.send(far, wire.Message{Kind: wire.LinkRefuse, Reason: wire.Busy})
			return true
		}
		if l := m.links.get(far); l.mine == 0 {
			m.send(far, wire.Message{Kind: wire.LinkRefuse, Reason: wire.Busy})
			m.cut(far)
		} else {
			l.theirs = 0
		}
	}
	return false
}

// maxPredecessors is how many peers may consider a node their successor. It is far above K_s, because while views
// are incomplete, more than K_s peers do.
func maxPredecessors(successors int) int { return 8*successors + 8 }

// farthest returns the peer that is farthest behind this node on the ring, among the sender of
// the request and the peers that consider this node their successor.
func (m *Machine) farthest() (far wire.Ref) {
	t := m.cfg.Table
	n, own, most := len(t.ring), t.rank(m.self), -1
	consider := func(p wire.Ref) {
		if d := (own - t.rank(p) + n) % n; d > most {
			far, most = p, d
		}
	}
	consider(m.in.From)
	for i := range m.links.list {
		if m.links.list[i].theirs&wire.Successor != 0 {
			consider(m.links.list[i].node)
		}
	}
	return far
}

// accepted handles a peer that agrees to a link.
func (m *Machine) accepted() {
	l := m.links.get(m.in.From)
	if l == nil {
		m.answer(wire.Message{Kind: wire.LinkDrop, Reason: wire.NoLink})
		return
	}
	l.theirs = m.in.Roles
	m.establish(l, m.in.Version)
}

// refused handles a peer that refuses a link, or has removed this node.
func (m *Machine) refused() {
	l := m.links.get(m.in.From)
	switch m.in.Reason {
	case wire.Removed:
		m.accused(m.in.AboutVersion)
		switch {
		case l == nil:
		case l.mine == 0:
			m.cut(l.node)
			m.topology.soon(m)
		case l.state == connecting && l.said == m.ver: // the peer knows this version already, so a higher one is needed
			m.retry(l)
		case l.state != retrying:
			m.request(l)
		}
	case wire.Redirect:
		m.redirected(l)
	case wire.Busy:
		if l == nil {
			return
		}
		l.theirs = 0
		if l.mine&wire.Successor == 0 {
			m.cut(l.node)
			m.topology.later(m)
			return
		}
		m.retry(l)
	}
}

// maxHops bounds how often a request is redirected.
const maxHops = 4

func (m *Machine) redirected(l *link) {
	if l == nil || l.state != connecting || l.mine != wire.Random {
		return
	}
	hops := l.hops + 1
	m.cut(l.node)
	m.topology.later(m)
	p := m.in.About
	if p != m.self {
		m.processAlive(p, m.in.AboutVersion)
	}
	if hops < maxHops && p != m.self && m.view.has(p) && m.links.get(p) == nil {
		m.open(p, wire.Random, hops)
	}
}

// dropped handles the message by which a peer says that it has no link with this node, or does
// not want that link any more.
func (m *Machine) dropped() {
	l := m.links.get(m.in.From)
	switch {
	case l == nil:
	case l.mine == 0:
		m.cut(l.node)
		m.topology.later(m)
	default:
		l.theirs = 0
		if m.in.Reason == wire.NoLink && l.state == up {
			m.request(l)
		}
	}
}
