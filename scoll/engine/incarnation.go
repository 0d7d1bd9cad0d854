package engine

import (
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// Incarnations. A request names two: that of its root and that of the creator of
// its group. Unless the node in question sent the request itself, they are hearsay:
// any node that a request passes may have written them. So
//
//   - an incarnation that a node tells of itself, on its own connection, is recorded
//     here; requests of an earlier one are refused with EREBOOT
//   - an incarnation that another node tells is used for that request only. If it is
//     later than one that this node keeps state of, the owner is asked (see Identity);
//     its answer ends the state of earlier ones
//   - an incarnation far above the wall clock is refused with EAHEAD: accepted, it
//     would stand above all that an honest node can have

// IncarnationSlack is how far an incarnation, in nanoseconds since 1970, may be above
// a member's wall clock. Clocks that are further apart keep nodes from working with
// each other.
const IncarnationSlack = 24 * time.Hour

const (
	maxAsked        = 64          // questions at a time, half of them for later
	askAgain        = time.Second // after so long a question is taken for lost
	askSpread       = 10 * time.Second
	maxIncarnations = 65_536 // of other nodes
	nonceStep       = 1 << 32
)

// lives is what this node knows of the incarnations of others.
type incarnations struct {
	of    map[nid.NID]uint64 // as the node itself said
	order []nid.NID          // the keys, the oldest first
	asked []question
	nonce uint64
}

// question is an Identity that is to be sent, or that is not answered.
type question struct {
	to    nid.NID
	nonce uint64
	sent  bool
	since time.Duration // when somebody else told what it is to confirm
	at    time.Duration // when it is sent, or given up
}

func (l *incarnations) init(self nid.NID, incarnation uint64) {
	l.of = map[nid.NID]uint64{self: incarnation}
	l.nonce = scramble(incarnation ^ nonceStep)
}

// set records what a node says of itself. The oldest record makes room.
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

// isAhead reports whether an incarnation is further above the wall clock than
// IncarnationSlack. The clock is wall, in nanoseconds since 1970, or what this node's
// own incarnation and the time since then say, if that is later: a node that is
// younger than this one has an incarnation about there.
func (m *Machine) isAhead(incarnation, wall uint64) bool {
	clock := max(wall, m.cfg.Incarnation+uint64(m.now-m.began))
	return incarnation > clock && incarnation-clock > uint64(IncarnationSlack)
}

// isPast reports whether a node itself said that it has a later incarnation. Whether
// that still holds is asked: another process may have used its NID meanwhile.
func (m *Machine) isPast(id nid.NID, incarnation uint64) bool {
	if incarnation >= m.incarnations.of[id] {
		return false
	}
	if id != m.cfg.Self {
		m.inquire(id)
	}
	return true
}

// heardOfIncarnation takes note of an incarnation in an admitted request: each time if its
// owner sent it, otherwise if the request is the first one over its group or of its
// root.
func (m *Machine) heardOfIncarnation(r *request, of nid.NID, incarnation uint64, fresh bool) {
	switch {
	case !of.IsValid() || of == m.cfg.Self:
	case r.parent == of:
		if incarnation > m.incarnations.of[of] {
			m.confirm(of, incarnation, m.now)
		}
	case fresh && m.hasEarlier(of, incarnation) && m.isAwaited(of):
		m.inquire(of)
	case fresh && m.hasEarlier(of, incarnation):
		m.inquireLater(of)
	}
}

// isAwaited reports whether a request here waits for a node's reply.
func (m *Machine) isAwaited(id nid.NID) bool {
	return slices.ContainsFunc(m.requests.slots, func(r *request) bool {
		if r.phase != running {
			return false
		}
		i := r.childOf(r.roster.Rank(id))
		return i >= 0 && r.children[i].state != done
	})
}

// hasEarlier reports whether this node keeps groups of earlier incarnations of a
// node than one that another node tells.
func (m *Machine) hasEarlier(of nid.NID, incarnation uint64) bool {
	if incarnation <= m.incarnations.of[of] {
		return false
	}
	return slices.ContainsFunc(m.table.list, func(g *group) bool {
		return !g.creator && g.key.id.Creator == of && g.key.id.Incarnation < incarnation
	})
}

// confirm records what a node says of itself, and ends what there is of earlier
// incarnations: its groups, what is known of it as a root, and waits for it. Those
// stay that began after the instant in which others told of this incarnation: it has
// these requests, if they have come.
func (m *Machine) confirm(id nid.NID, incarnation uint64, since time.Duration) {
	before, ended := m.incarnations.of[id], m.stats.Destroyed
	m.incarnations.set(id, incarnation)
	m.endGroups(func(g *group) bool { return g.key.id.Creator == id && g.key.id.Incarnation < incarnation })
	if before != 0 && before < incarnation || m.stats.Destroyed > ended {
		m.endWaits(id, wire.EREBOOT, since)
	}
	for _, g := range m.table.list {
		g.forgetRoots(id, incarnation)
	}
}

// inquire asks a node for its incarnation, unless it is being asked.
func (m *Machine) inquire(id nid.NID) { m.planQuestion(id, m.now) }

// inquireLater does so at some instant of the next seconds, which differs from node to
// node: when a root of thousands of nodes was restarted all of them may want to know.
func (m *Machine) inquireLater(id nid.NID) {
	m.planQuestion(id, m.now+time.Duration(scramble(m.incarnations.nonce)%uint64(askSpread)))
}

// planQuestion plans a question, or brings it forward.
func (m *Machine) planQuestion(id nid.NID, at time.Duration) {
	m.inquireNow()
	l := &m.incarnations
	i := slices.IndexFunc(l.asked, func(q question) bool { return q.to == id })
	switch {
	case i >= 0 && !l.asked[i].sent:
		l.asked[i].at = min(l.asked[i].at, at)
	case i >= 0, len(l.asked) == maxAsked, at > m.now && len(l.asked) >= maxAsked/2, !m.mayDial(id):
	default:
		l.nonce += nonceStep
		l.asked = append(l.asked, question{to: id, nonce: l.nonce, since: m.now, at: at})
	}
	m.inquireNow()
}

// inquireNow sends the questions that are due, and gives up those without an answer.
func (m *Machine) inquireNow() {
	l := &m.incarnations
	l.asked = slices.DeleteFunc(l.asked, func(q question) bool { return q.sent && q.at <= m.now })
	for i := range l.asked {
		if q := &l.asked[i]; !q.sent && q.at <= m.now {
			q.sent, q.at = true, m.now+askAgain
			m.stats.Asked++
			m.identify(q.to, &wire.Identity{Kind: wire.Ask, Nonce: q.nonce})
		}
	}
}

// wake is when a question is due next.
func (l *incarnations) wake() time.Duration {
	at := machine.Never
	for i := range l.asked {
		at = min(at, l.asked[i].at)
	}
	return at
}

// identity takes a question, or the answer to one. The answer counts even if it is
// lower than what was recorded: the node has just said it.
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
}

// identify sends a message about incarnations; the machine does not wait to hear that
// it left.
func (m *Machine) identify(to nid.NID, i *wire.Identity) {
	i.Signed = m.cfg.Signed
	begin := len(m.out.Buf)
	m.out.Buf = i.AppendTo(m.out.Buf)
	m.emit(Effect{Kind: DoTell, To: to, Data: Range{begin, len(m.out.Buf)}})
}
