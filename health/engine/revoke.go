package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// The evicting server may be in a minority partition that discovery has not detected yet, while the
// client has a master in the majority. So for some time a tombstone that another server ordered is
// not final. The server that ordered it can withdraw it, and a server that loses its quorum drops
// it. In that time a client that shows a later choice of a master is told to try again. It is not
// told that all servers have evicted it.

// lastWord returns the time after which an eviction by another server is final. That is longer
// than discovery takes to tell a server that it is cut off.
func (t *Timing) lastWord() time.Duration { return 2 * t.Evict }

// heardOf carries out an eviction that another server ordered. It calls end, which ends the
// connection and, if bury is true, adds a tombstone. The argument bury is false if this server
// is cut off. A tombstone that the incarnation already has keeps its origin and time in three cases: it is
// final; it is for a later choice of a master than the order; or it names a choice, and the order, of an earlier
// version, does not.
func (s *Server) heardOf(e *wire.Entry, from int32, end func(bury bool)) {
	old, had := s.tombstones.incarnations[e.Client]
	had = had && old.incarnation == e.Incarnation && !old.void && (old.from == noSlot || e.Before(old.epoch) || e.Epoch == 0 && old.epoch != 0)
	at := s.now
	if old.incarnation == e.Incarnation && old.epoch == e.Epoch && old.from != noSlot && !old.void {
		at = old.said // a copy of the request does not postpone the time at which the eviction is final
	}
	if end(!s.quorum.cutOff()); !had && !s.quorum.cutOff() {
		s.tombstones.said(e, from, at)
	} else if g, ok := s.tombstones.incarnations[e.Client]; had && ok {
		g.said, g.epoch, g.from = old.said, old.epoch, old.from
		s.tombstones.incarnations[e.Client] = g
	}
}

// said records which server ordered the client's latest tombstone, and at what time.
func (t *tombstones) said(e *wire.Entry, from int32, at time.Duration) {
	g, ok := t.incarnations[e.Client]
	if !ok || g.incarnation != e.Incarnation {
		return
	}
	g.said, g.epoch, g.from = at, e.Epoch, from
	g.noChoice = g.noChoice || from == unnamed && e.Epoch == 0
	t.incarnations[e.Client] = g
}

// recent reports whether a tombstone is not final yet.
func (s *Server) recent(g tombstone) bool {
	return !g.void && g.from != noSlot && s.now < g.said+s.cfg.lastWord()
}

// overtaken reports whether a message shows a choice of a master that the client made after the
// choice to which a recent tombstone belongs. It also reports that of an incarnation whose eviction this
// server has given up: it may be about to withdraw the eviction.
func (s *Server) overtaken(m *wire.Message) bool {
	g, ok := s.tombstones.incarnations[m.Client]
	if !ok || g.incarnation != m.Incarnation {
		return false
	}
	x := s.evictions.given[m.Client]
	e := wire.Entry{Epoch: g.epoch}
	return x != nil && x.incarnation == m.Incarnation || s.recent(g) && e.Before(m.Epoch)
}

// withdrawn applies the withdrawal of an eviction. Copies of the eviction may still arrive, so the
// tombstone of the incarnation, which is void if no other eviction counts, records that it was withdrawn.
func (s *Server) withdrawn(from int32, e wire.Entry) {
	if i, ok := s.find(e.Client); ok && s.conn(i).incarnation == e.Incarnation {
		s.evictions.evictsNoMore(&e, from)
	}
	if from != s.members.self {
		s.evictions.given[e.Client].withdrawn(&e)
	}
	g, ok := s.tombstones.incarnations[e.Client]
	if e.Incarnation > s.believed(e.Client) {
		s.stats.Ahead++
		return
	}
	if ok && g.incarnation > e.Incarnation {
		return
	}
	taken := s.tombstones.takes(&e, from)
	switch same := ok && g.incarnation == e.Incarnation; {
	case same && !g.withdrawnBy(from, &e):
		return
	case same && g.noChoice && e.Epoch != 0:
		s.withdrawnChoice(e.Client, g)
		return
	case same && !g.void:
		s.revoke(e.Client, g)
	}
	s.catchup.doubts.withdrawn(&e)
	s.stats.Forgotten += s.tombstones.bury(e.Client, e.Incarnation, s.now+s.cfg.tombstone(), nid.NID{})
	s.tombstones.voided(&e, from, taken)
}

// withdrawnBy reports whether the withdrawal of an eviction by the server from also removes this tombstone of the
// same incarnation. A tombstone for a later choice stays. A tombstone whose origin is not known (unnamed) is
// removed, unless it names no choice of a master and the withdrawal does. Such a tombstone is that of an orphan,
// and the withdrawal may be much older.
func (g *tombstone) withdrawnBy(from int32, e *wire.Entry) bool {
	return g.void || !e.Before(g.epoch) && (g.from == from || g.from == unnamed && (g.epoch != 0 || e.Epoch == 0))
}

// takenBack reports whether an eviction by the server from is a late copy of one that the same server has
// withdrawn. For a tombstone that was learned from another server, from is unnamed, and the withdrawal by any
// server counts.
func (s *Server) takenBack(e *wire.Entry, from int32) bool {
	g, ok := s.tombstones.incarnations[e.Client]
	return ok && g.incarnation == e.Incarnation && g.taken.of(e, from)
}

// copyTold reports whether a tombstone that another server reports belongs to an eviction that was withdrawn. It
// does not if it names no choice of a master and all withdrawals do: then it is the tombstone of an orphan, or the
// one that a master keeps of its own eviction. The eviction of such a tombstone may be older or newer than the
// withdrawal, which may arrive late.
func (s *Server) copyTold(e *wire.Entry) bool {
	return s.takenBack(e, unnamed) && (e.Epoch != 0 || s.tombstones.incarnations[e.Client].taken.anyChoice())
}

// withdrawnChoice is called when an incarnation has two tombstones, and the eviction of the one that names a
// choice of a master is withdrawn. The other one, which names no choice, stays.
func (s *Server) withdrawnChoice(id wire.ClientID, g tombstone) {
	s.tombstones.said(&wire.Entry{Client: id, Incarnation: g.incarnation}, unnamed, g.said)
	s.emit(ServerEffect{Kind: DoRemove, Client: id, Incarnation: g.incarnation, For: -1})
	s.emit(ServerEffect{Kind: DoRemove, Client: id, Incarnation: g.incarnation, For: g.until - s.now})
	if i, ok := s.find(id); ok { // connected in another incarnation: DoRemove has removed its record, so save it again
		s.save(0, s.conn(i))
	}
}

// revokeRecent is called when this server loses its quorum. It drops the tombstones that are not
// final, because the majority decides about these clients.
func (s *Server) revokeRecent() {
	for _, p := range s.tombstones.queue {
		if g, ok := s.tombstones.incarnations[p.id]; ok && s.recent(g) {
			s.revoke(p.id, g)
		}
	}
}

// revoke drops a tombstone, here and in the store.
func (s *Server) revoke(id wire.ClientID, g tombstone) {
	s.stats.Revoked++
	s.tombstones.remove(id)
	s.emit(ServerEffect{Kind: DoRemove, Client: id, Incarnation: g.incarnation, For: -1})
	if i, ok := s.find(id); ok { // removing the tombstone has also removed the client's record: save the record again
		s.save(0, s.conn(i))
	}
}
