package engine

import (
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// A request names two incarnations: that of its root and that of the creator of its group.
// Unless the node in question sent the request itself, they are not reliable: any node on the
// way may have written them. Therefore
//
//   - the machine records an incarnation that a node reports of itself, on its own connection,
//     and refuses requests of an earlier one with EREBOOT
//   - an incarnation that another node reports counts for that request alone. If it is later
//     than one for which this node keeps state, the machine asks the owner (see
//     wire.Identity), whose answer ends the state of earlier incarnations
//   - it refuses an incarnation far above the wall clock with EAHEAD: once recorded, it
//     would be above all that an honest node can have

// IncarnationSlack bounds how far an incarnation, in nanoseconds since 1970, may be above a
// member's wall clock. Nodes whose clocks differ by more cannot work with each other.
const IncarnationSlack = 24 * time.Hour

const (
	maxAsked        = 64               // questions under way at a time; at most half of them planned for later, or to children that are back
	askAgain        = time.Second      // time after which a question counts as lost
	askMute         = time.Minute      // time between questions to a node that is back and has not answered maxTries of them; none of its requests is late for longer
	askSpread       = 10 * time.Second // a question that need not be sent at once is sent at a random instant within this time
	maxIncarnations = 65_536           // number of other nodes whose incarnation is remembered
	nonceStep       = 1 << 32
)

// incarnations records the incarnations of other nodes, and the questions about them.
type incarnations struct {
	of    map[nid.NID]uint64 // incarnation of each node, as the node itself has reported
	order []nid.NID          // keys of the map, the oldest first
	asked []question
	nonce uint64
}

// question is an Identity that has to be sent, or has no answer yet.
type question struct {
	to    nid.NID
	nonce uint64
	sent  bool
	since time.Duration // when another node reported the incarnation that is to be confirmed
	at    time.Duration // when to send the question, or to give it up
}

func (l *incarnations) init(self nid.NID, incarnation uint64) {
	l.of = map[nid.NID]uint64{self: incarnation}
	l.nonce = scramble(incarnation ^ nonceStep)
}

// set records the incarnation that a node reports of itself. When the table is full the oldest
// entry is dropped.
func (l *incarnations) set(id nid.NID, incarnation uint64) {
	if _, known := l.of[id]; !known {
		if len(l.order) == maxIncarnations {
			delete(l.of, l.order[0])
			l.order = slices.Delete(l.order, 0, 1)
		}
		l.order = append(l.order, id)
	}
	l.of[id] = incarnation
}

// isAhead reports whether an incarnation is more than IncarnationSlack above the present time.
// That time is the later of two: wall, the wall clock in nanoseconds since 1970, and this
// node's own incarnation plus the time since its start. The second one is needed if the wall clock
// was set back: nodes that started before it was set back have higher incarnations.
func (m *Machine) isAhead(incarnation, wall uint64) bool {
	clock := max(wall, m.cfg.Incarnation+uint64(m.now-m.began))
	return incarnation > clock && incarnation-clock > uint64(IncarnationSlack)
}

// isPast reports whether a node itself has reported a later incarnation. It also asks the node
// again, because another process may have got its NID since that report.
func (m *Machine) isPast(id nid.NID, incarnation uint64) bool {
	if incarnation >= m.incarnations.of[id] {
		return false
	}
	if id != m.cfg.Self {
		m.inquire(id)
	}
	return true
}

// heardOfIncarnation processes an incarnation of a node that an admitted request names. It confirms the
// incarnation if that node itself sent the request. Otherwise it asks the node, but only if fresh is
// set: the request is the first one over its group or of its root.
func (m *Machine) heardOfIncarnation(r *request, of nid.NID, incarnation uint64, fresh bool) {
	switch {
	case !of.IsValid() || of == m.cfg.Self:
	case r.parent == of:
		if incarnation > m.incarnations.of[of] {
			m.confirm(of, incarnation, m.now)
			m.askAnew(of)
			m.inquireReturned(of)
		}
		if back := m.health.back[of]; back.unanswered == maxTries && m.now >= back.at+askMute { // its requests from before its death have long come
			delete(m.health.back, of)
		}
	case fresh && m.hasEarlier(of, incarnation) && m.isAwaited(of):
		m.inquire(of)
	case fresh && m.hasEarlier(of, incarnation):
		m.inquireLater(of)
	}
}

// isAwaited reports whether a request at this node waits for a node's reply.
func (m *Machine) isAwaited(id nid.NID) bool {
	return slices.ContainsFunc(m.requests.slots, func(r *request) bool {
		if r.phase != running {
			return false
		}
		i := r.childOf(r.roster.Rank(id))
		return i >= 0 && r.children[i].state != done
	})
}

// hasEarlier reports whether this node has groups of earlier incarnations of a node than the
// one that another node has reported.
func (m *Machine) hasEarlier(of nid.NID, incarnation uint64) bool {
	if incarnation <= m.incarnations.of[of] {
		return false
	}
	return slices.ContainsFunc(m.table.list, func(g *group) bool {
		return !g.creator && g.key.id.Creator == of && g.key.id.Incarnation < incarnation
	})
}

// confirm records the incarnation that a node reports of itself, and ends the state of its earlier
// incarnations: groups that they created, their state as roots, and waits for their replies. It does not end
// waits that began later than since, because another node had reported the new incarnation by then, so these
// requests went to the new incarnation. Nor does it end those that began after discovery had reported that the
// node is back, until the node has answered a question that it was asked since.
func (m *Machine) confirm(id nid.NID, incarnation uint64, since time.Duration) {
	before, ended := m.incarnations.of[id], m.stats.Destroyed
	m.incarnations.set(id, incarnation)
	if back, ok := m.health.back[id]; ok {
		since = min(since, back.at-1)
	}
	m.endGroups(func(g *group) bool { return g.key.id.Creator == id && g.key.id.Incarnation < incarnation })
	if before != 0 && before < incarnation || m.stats.Destroyed > ended {
		m.endWaits(id, wire.EREBOOT, since)
	}
	for _, g := range m.table.list {
		g.forgetRoots(id, incarnation)
	}
}

// inquire asks a node for its incarnation, unless such a question is under way.
func (m *Machine) inquire(id nid.NID) { m.planQuestion(id, m.now, true) }

// inquireLater asks a node for its incarnation at a pseudorandom instant within askSpread: when
// a root has restarted, thousands of members may want to ask it.
func (m *Machine) inquireLater(id nid.NID) {
	m.planQuestion(id, m.now+time.Duration(scramble(m.incarnations.nonce)%uint64(askSpread)), true)
}

// inquireReturned asks a node, to which a request was just sent or which has sent one, for its incarnation if discovery has
// reported that the node is back after a death, and the node has answered no question since. Discovery may be wrong, and
// the node's requests do not show that: they may have been sent before a restart, and come late. If many
// nodes are back, those for which no question is left now are asked with a later request. A node that has not answered
// maxTries questions is asked seldom: it may not know them, or messages to it were lost.
func (m *Machine) inquireReturned(id nid.NID) {
	if back, ok := m.health.back[id]; ok && (back.unanswered < maxTries || m.now >= back.again) && len(m.incarnations.asked) < maxAsked/2 {
		m.planQuestion(id, m.now, false)
	}
}

// askAnew replaces a question that a node has not answered yet, because its answer may tell an incarnation that has ended
// since the question was sent.
func (m *Machine) askAnew(id nid.NID) {
	l := &m.incarnations
	if i := slices.IndexFunc(l.asked, func(q question) bool { return q.sent && q.to == id }); i >= 0 {
		l.asked = slices.Delete(l.asked, i, i+1)
		m.planQuestion(id, m.now, false)
	}
}

// planQuestion plans a question, or moves a planned one to an earlier instant. named says that this node need not send
// to id otherwise, and may therefore be limited (see mayDial).
func (m *Machine) planQuestion(id nid.NID, at time.Duration, named bool) {
	m.inquireNow()
	l := &m.incarnations
	i := slices.IndexFunc(l.asked, func(q question) bool { return q.to == id })
	switch {
	case i >= 0 && !l.asked[i].sent:
		l.asked[i].at = min(l.asked[i].at, at)
	case i >= 0, len(l.asked) == maxAsked, at > m.now && len(l.asked) >= maxAsked/2, named && !m.mayDial(id):
	default:
		l.nonce += nonceStep
		l.asked = append(l.asked, question{to: id, nonce: l.nonce, since: m.now, at: at})
	}
	m.inquireNow()
}

// inquireNow sends the questions that are due, and gives up those without an answer.
func (m *Machine) inquireNow() {
	l := &m.incarnations
	l.asked = slices.DeleteFunc(l.asked, func(q question) bool {
		over := q.sent && q.at <= m.now
		if back, ok := m.health.back[q.to]; over && ok {
			back.unanswered, back.again = min(back.unanswered+1, maxTries), m.now+askMute
			m.health.back[q.to] = back
		}
		return over
	})
	for i := range l.asked {
		if q := &l.asked[i]; !q.sent && q.at <= m.now {
			q.sent, q.at = true, m.now+askAgain
			m.stats.Asked++
			m.identify(q.to, &wire.Identity{Kind: wire.Ask, Nonce: q.nonce})
		}
	}
}

// wake returns when the next question is due.
func (l *incarnations) wake() time.Duration {
	at := machine.Never
	for i := range l.asked {
		at = min(at, l.asked[i].at)
	}
	return at
}

// identity takes a question, or the answer to one. An answer counts even if it is lower than
// the recorded incarnation, because the node itself has sent it since it was asked (see askAnew).
func (m *Machine) identity(in *Input) {
	from := in.From
	i, err := wire.ParseIdentity(in.Data)
	if !m.mayHear(in, err, i.Signed) {
		return
	}
	if i.Kind == wire.Ask {
		m.identify(from, &wire.Identity{Kind: wire.Tell, Nonce: i.Nonce, Incarnation: m.cfg.Incarnation})
		return
	}
	q := slices.IndexFunc(m.incarnations.asked, func(q question) bool { return q.sent && q.to == from && q.nonce == i.Nonce })
	if q < 0 {
		m.stats.Stray++
		return
	}
	since := m.incarnations.asked[q].since
	m.incarnations.asked = slices.Delete(m.incarnations.asked, q, q+1)
	if m.isAhead(i.Incarnation, in.Wall) {
		m.stats.Ahead++
		m.emit(Effect{Kind: WarnAhead, To: from, Bits: i.Incarnation})
		return
	}
	m.confirm(from, i.Incarnation, since)
	delete(m.health.back, from)
}

// identify sends an Identity, and does not wait for the result of sending.
func (m *Machine) identify(to nid.NID, i *wire.Identity) {
	i.Signed = m.cfg.Signed
	begin := len(m.out.Buf)
	m.out.Buf = i.AppendTo(m.out.Buf)
	m.emit(Effect{Kind: DoTell, To: to, Data: Range{begin, len(m.out.Buf)}})
}
