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
	had = had && old.incarnation == e.Incarnation && (old.from == noSlot || e.Before(old.epoch) || e.Epoch == 0 && old.epoch != 0)
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

// withdrawn applies the withdrawal of an eviction. Copies of the eviction may still arrive, so a
// void tombstone records that it was withdrawn.
func (s *Server) withdrawn(from int32, e wire.Entry) {
	if i, ok := s.find(e.Client); ok && s.conn(i).incarnation == e.Incarnation {
		s.evictions.evictsNoMore(&e, from)
	}
	if from != s.members.self {
		s.evictions.given[e.Client].withdrawn(&e)
	}
	g, ok := s.tombstones.incarnations[e.Client]
	switch {
	case e.Incarnation > s.believed(e.Client):
		s.stats.Ahead++
		return
	case ok && g.incarnation > e.Incarnation, ok && g.incarnation == e.Incarnation && !g.withdrawnBy(from, &e):
		return
	case ok && g.incarnation == e.Incarnation && !g.void:
		s.revoke(e.Client, g)
	}
	delete(s.catchup.doubts, e.Client)
	s.stats.Forgotten += s.tombstones.bury(e.Client, e.Incarnation, s.now+s.cfg.tombstone(), nid.NID{})
	if g, ok = s.tombstones.incarnations[e.Client]; !ok {
		return // there is no room for another tombstone
	}
	g.void, g.from, g.epoch = true, from, e.Epoch
	s.tombstones.incarnations[e.Client] = g
}

// withdrawnBy reports whether the withdrawal of an eviction by the server from removes a tombstone of the same incarnation. It
// may also remove a tombstone that was learned from yet another server, unless that tombstone names no choice of a master and
// the withdrawal does: then the tombstone is that of an orphan, and the withdrawal may be much older.
func (g *tombstone) withdrawnBy(from int32, e *wire.Entry) bool {
	if e.Before(g.epoch) {
		return false
	}
	return g.void || g.from == from || g.from == unnamed && (g.epoch != 0 || e.Epoch == 0)
}

// takenBack reports whether an eviction is a late copy of an eviction that was withdrawn. A copy comes from the server
// that has withdrawn it; of a tombstone that was told, from is unnamed.
func (s *Server) takenBack(e *wire.Entry, from int32) bool {
	g, ok := s.tombstones.incarnations[e.Client]
	withdrawn := wire.Entry{Epoch: g.epoch}
	return ok && g.void && g.incarnation == e.Incarnation && (g.from == from || from == unnamed) && !withdrawn.Before(e.Epoch)
}

// sinceWithdrawn reports whether a tombstone that names no choice of a master is younger than the withdrawal of an
// eviction of the same incarnation. Then it is no copy of that eviction: the client lived on, and was evicted as an
// orphan, or has left.
func (s *Server) sinceWithdrawn(e *wire.Entry, ordered time.Duration) bool {
	return e.Epoch == 0 && ordered > s.tombstones.incarnations[e.Client].until-s.cfg.tombstone()
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
