package engine

import (
	"slices"

	"ulnet/scoll/wire"
)

// A broadcast to the live members needs all of them to agree on which members are alive. A
// member that disagrees answers ESTALE for its subtree. The root then waits until discovery has
// converged, and sends the request again to the members that are alive then (SC-A20). Each
// attempt is a broadcast of its own. Its header has the sequence of the first attempt, by which
// members know whether they have run the request.

// rest makes a root wait before another attempt, if members disagreed with it about which members are alive, and
// reports whether the root waits. The trailer shows such a disagreement as ESTALE for a whole subtree. An ESTALE for a
// single member is an error of that member's service.
func (m *Machine) rest(r *request) bool {
	stale := slices.ContainsFunc(r.trailer, func(e wire.Missing) bool { return e.Status == wire.ESTALE && e.Scope == wire.Subtree })
	if !r.root || !stale || r.header.Flags&wire.FlagSubset == 0 || r.aborted || r.exposed && !r.withdrawn || !m.mayRepeat(r) {
		return false
	}
	r.phase, r.until = resting, m.now+m.cfg.Propagation
	m.schedule(r)
	return true
}

// mayRepeat reports whether another attempt is possible. It is not if the list of an out-of-band group has
// changed: this node may not be on the new list, the ranks differ, and members with the new list refuse a request
// with the digest of the old one. All attempts have the sequence of the first one, which must still be within the
// windows by which members detect duplicates.
func (m *Machine) mayRepeat(r *request) bool {
	g := r.group
	return r.attempts < maxAttempts && g.index >= 0 && !m.hasEnded(g) && !g.isRelisted(r) && g.hasRoom()
}

// isRelisted reports whether the list of an out-of-band group has changed since the first attempt of a broadcast.
func (g *group) isRelisted(r *request) bool {
	return g.isOOB() && g.members.Digest() != r.header.Group.Digest
}

// again begins another attempt, or ends the broadcast if another attempt is not possible (mayRepeat).
func (m *Machine) again(r *request) {
	if !m.mayRepeat(r) {
		r.attempts = maxAttempts
		m.postReply(r)
		return
	}
	r.attempts++
	m.stats.Again++
	g, h := r.group, &r.header
	if h.Sequence != h.First {
		g.forgetSequence(h.Sequence)
	}
	g.sequence++
	g.busy = append(g.busy, g.sequence)
	roster := m.liveRoster(g)
	rank := roster.Rank(m.cfg.Self)
	h.Sequence, h.Nodes, h.Root, h.Live = g.sequence, uint32(roster.Len()), uint32(rank), roster.Digest()
	delete(m.requests.byBits, r.bits)
	r.bits, r.trailer, r.exposed, r.withdrawn = 0, r.trailer[:0], false, false
	g.inFlight-- // the request is counted already, and join counts it again
	l := g.spread(roster, h.Tree, rank, rank)
	m.join(r, g, roster, l)
	r.spawn(l)
	if r.failed != wire.OK {
		r.trailer = append(r.trailer, wire.Missing{Rank: uint32(r.rank), Status: r.failed, Scope: wire.Node})
	}
	r.phase = preparing
	m.emit(Effect{
		Kind: CallPreRequest, ID: r.id, To: m.cfg.Self, Header: h, Members: roster, Whole: g.members,
		Data: m.appendBytes(r.payload()), Children: m.appendChildren(r),
	})
	m.schedule(r)
}

// preparedAgain sends another attempt, if the service has posted buffers for the replies.
func (m *Machine) preparedAgain(r *request, s wire.Status) {
	if r.aborted {
		s = wire.ECANCELED
	}
	if s == wire.OK {
		m.run(r)
		return
	}
	r.phase = running
	for i := range r.children {
		m.fail(r, i, s)
	}
	m.gather(r)
}
