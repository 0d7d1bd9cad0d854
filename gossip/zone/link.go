package zone

import (
	"slices"
	"time"

	"ulnet/lnet/machine"
)

// linkState is what a link is. Transitions:
//
//	connecting -- accepted, or requested by the peer --> up
//	connecting, up -- failed --> reported, and retrying (a successor) or gone
//	connecting, up -- failed, while nothing is believed --> held
//	held -- heard of --> up
//	held -- something else was heard of --> probed; silent --> reported
//	retrying -- in its time --> connecting
type linkState uint8

const (
	connecting linkState = iota
	up
	held     // it failed, but so did many others: perhaps it is this node (MS-A1)
	retrying // it failed and was reported
)

var linkStateNames = [...]string{"connecting", "up", "held", "retrying"}

// String returns the name of the state.
func (s linkState) String() string { return name(linkStateNames[:], int(s)) }

// link is a long-term neighbour, or one to be. Both ends send heartbeats (MS-A12).
type link struct {
	node   Ref
	state  linkState
	mine   Roles // what this node wants of it
	theirs Roles // and the peer
	// probing: an answer is asked for by due, because the transport lost the
	// connection (MS-A30) or the link was held.
	probing bool
	// doubted: it was held, and is not held again.
	doubted bool
	same    bool          // it said last that it has the same attributes
	local   bool          // the last attempt failed for a reason of this host
	hops    uint8         // redirections so far
	drawn   uint32        // how large the view was when it was drawn
	heard   time.Duration // when anything came from it
	due     time.Duration // connecting: until then; retrying: then
	backoff time.Duration // of retries
	version Version       // newest heard on it
	repair  agreement     // on views
	tables  agreement     // on attributes
}

// links are all links of a node, few enough to look through.
type links struct {
	list []link
}

// get returns the link to a node, or nil. It is valid until a link is added.
func (ls *links) get(p Ref) *link {
	for i := range ls.list {
		if ls.list[i].node == p {
			return &ls.list[i]
		}
	}
	return nil
}

// each calls f for all links in a state. f must not add or delete links.
func (ls *links) each(s linkState, f func(*link)) {
	for i := range ls.list {
		if ls.list[i].state == s {
			f(&ls.list[i])
		}
	}
}

func (ls *links) count(s linkState) (n int) {
	for i := range ls.list {
		if ls.list[i].state == s {
			n++
		}
	}
	return n
}

// next returns when a link wants attention.
func (ls *links) next(m *Machine) time.Duration {
	at := machine.Never
	for i := range ls.list {
		at = min(at, ls.list[i].deadline(m))
	}
	return at
}

// deadline is when a link has failed, or has to be tried again.
func (l *link) deadline(m *Machine) time.Duration {
	switch {
	case l.state == held && !l.probing:
		return machine.Never
	case l.state == up && !l.probing:
		return l.heard + m.cfg.Timeout
	case l.state == up:
		return min(l.due, l.heard+m.cfg.Timeout)
	}
	return l.due
}

// expireLinks does what links want.
func (m *Machine) expireLinks() {
	for i := 0; i < len(m.links.list); i++ {
		l := &m.links.list[i]
		if m.now < l.deadline(m) {
			continue
		}
		if l.state == retrying {
			m.request(l)
			continue
		}
		m.lost(l)
		i = -1 // the list may be another one; what was lost is not due any more
	}
}

// open begins a link.
func (m *Machine) open(p Ref, role Roles, hops uint8) {
	m.links.list = append(m.links.list, link{
		node: p, mine: role, hops: hops, drawn: uint32(m.view.members), backoff: m.cfg.Heartbeat,
	})
	m.out.Watch = append(m.out.Watch, p)
	m.request(m.links.get(p))
}

// request asks a peer for a link.
func (m *Machine) request(l *link) {
	l.state, l.probing, l.local = connecting, false, false
	l.due = m.now + m.cfg.Timeout
	m.send(l.node, Message{Kind: LinkRequest, Roles: l.mine})
}

// cut ends a link without a word.
func (m *Machine) cut(p Ref) {
	i := slices.IndexFunc(m.links.list, func(l link) bool { return l.node == p })
	if i < 0 {
		return
	}
	m.links.list = slices.Delete(m.links.list, i, i+1)
	m.out.Ignore = append(m.out.Ignore, p)
	m.attributes.lost(m, p) // MS-87
}

// unlink ends the link to a node that was removed from the view. If it lives it
// should know, so that it can refute that.
func (m *Machine) unlink(p Ref, cause Cause) {
	if l := m.links.get(p); l != nil {
		if cause != Said && l.state == up {
			m.send(p, Message{Kind: LinkRefuse, Reason: Removed, About: p, AboutVersion: m.view.at(p).version()})
		}
		m.cut(p)
		m.topology.soon(m)
	}
}

// establish makes a link one of those that count: the peer is told all there is
// (MS-53), unless it was up before in the same life of the peer.
func (m *Machine) establish(l *link, v Version) {
	again := l.state == up && l.version.Inc == v.Inc
	l.state, l.probing, l.doubted, l.local, l.version = up, false, false, false, v
	l.heard, l.backoff, l.hops = m.now, m.cfg.Heartbeat, 0
	if m.blind.muted {
		m.confirmed()
	}
	if again {
		return
	}
	l.repair, l.tables = agreement{}, agreement{}
	m.sendBase(l, 0)
	m.attributes.greet(m, l)
}

// requested answers a request for a link.
func (m *Machine) requested() {
	p, l := m.in.From, m.links.get(m.in.From)
	if !m.view.has(p) {
		m.refuseStranger(p)
		return
	}
	if l == nil {
		if m.crowded(m.in.Roles) {
			return
		}
		m.links.list = append(m.links.list, link{node: p, backoff: m.cfg.Heartbeat})
		m.out.Watch = append(m.out.Watch, p)
		l = m.links.get(p)
	}
	l.theirs = m.in.Roles
	m.send(p, Message{Kind: LinkAccept, Roles: l.mine})
	m.establish(l, m.in.Version)
}

// refuseStranger tells a node that it was removed, if so.
func (m *Machine) refuseStranger(p Ref) {
	if e := m.view.at(p); e.state == inHistory {
		m.send(p, Message{Kind: LinkRefuse, Reason: Removed, About: p, AboutVersion: e.version()})
	}
}

// crowded refuses a link if there are too many that others drew (MS-A12), and makes
// room for, or refuses, one that thinks of this node as its successor.
func (m *Machine) crowded(roles Roles) bool {
	var drawn, before int
	for i := range m.links.list {
		switch t := m.links.list[i].theirs; {
		case t&Successor != 0:
			before++
		case t != 0:
			drawn++
		}
	}
	switch {
	case roles&Successor == 0 && drawn >= 2*m.cfg.Random+2:
		if other := m.draw(m.in.From); other != 0 {
			m.send(m.in.From, Message{Kind: LinkRefuse, Reason: Redirect, About: other, AboutVersion: m.view.at(other).version()})
			return true
		}
		m.send(m.in.From, Message{Kind: LinkRefuse, Reason: Busy})
		return true
	case roles&Successor != 0 && before >= maxPredecessors(m.cfg.Successors):
		far := m.farthest()
		if far == m.in.From {
			m.send(far, Message{Kind: LinkRefuse, Reason: Busy})
			return true
		}
		if l := m.links.get(far); l.mine == 0 {
			m.send(far, Message{Kind: LinkRefuse, Reason: Busy})
			m.cut(far)
		} else {
			l.theirs = 0
		}
	}
	return false
}

// maxPredecessors is how many may think of a node as their successor: while views
// are incomplete there are more than K_s.
func maxPredecessors(successors int) int { return 8*successors + 8 }

// farthest returns the one that is farthest behind on the ring, of those that think
// of this node as their successor and the one that asks to.
func (m *Machine) farthest() (far Ref) {
	t := m.cfg.Table
	n, own, most := len(t.ring), t.rank(m.self), -1
	consider := func(p Ref) {
		if d := (own - t.rank(p) + n) % n; d > most {
			far, most = p, d
		}
	}
	consider(m.in.From)
	for i := range m.links.list {
		if m.links.list[i].theirs&Successor != 0 {
			consider(m.links.list[i].node)
		}
	}
	return far
}

// accepted is told that a peer agrees to a link.
func (m *Machine) accepted() {
	l := m.links.get(m.in.From)
	if l == nil {
		m.answer(Message{Kind: LinkDrop, Reason: NoLink})
		return
	}
	l.theirs = m.in.Roles
	m.establish(l, m.in.Version)
}

// refused is told that a peer does not agree to a link, or that it removed this node.
func (m *Machine) refused() {
	l := m.links.get(m.in.From)
	switch m.in.Reason {
	case Removed:
		m.accused(m.in.AboutVersion)
		if l != nil && l.mine != 0 {
			m.request(l)
		} else if l != nil {
			m.cut(l.node)
			m.topology.soon(m)
		}
	case Redirect:
		m.redirected(l)
	case Busy:
		if l == nil {
			return
		}
		l.theirs = 0
		if l.mine&Successor == 0 {
			m.cut(l.node)
			m.topology.later(m)
			return
		}
		m.retry(l)
	}
}

// maxHops bounds how often a request is passed on.
const maxHops = 4

func (m *Machine) redirected(l *link) {
	if l == nil || l.state != connecting || l.mine != Random {
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
		m.open(p, Random, hops)
	}
}

// dropped is told that a peer has no link, or does not want it any more.
func (m *Machine) dropped() {
	l := m.links.get(m.in.From)
	switch {
	case l == nil:
	case l.mine == 0:
		m.cut(l.node)
		m.topology.later(m)
	default:
		l.theirs = 0
		if m.in.Reason == NoLink && l.state == up {
			m.request(l)
		}
	}
}

// retry waits, each time longer, before it asks again (MS-A2).
func (m *Machine) retry(l *link) {
	l.state, l.probing, l.doubted, l.theirs = retrying, false, false, 0
	l.due = m.now + l.backoff
	l.backoff = min(2*l.backoff, maxBackoff)
}

const maxBackoff = time.Minute
