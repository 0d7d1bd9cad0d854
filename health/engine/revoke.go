package engine

import (
	"slices"
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
// is cut off. A tombstone that the incarnation already has keeps its origin and time in three cases: it is that of
// an eviction by this server; it is for a later choice of a master than the order; or it names a choice, and the order,
// of an earlier version, does not.
func (s *Server) heardOf(e *wire.Entry, from int32, end func(bury bool)) {
	old, counts := s.tombstones.of(e.Client, e.Incarnation)
	counts = counts && !old.void
	had := counts && (old.from == noSlot && !old.left || e.Before(old.epoch) || e.Epoch == 0 && old.epoch != 0)
	at := s.now
	if counts && old.epoch == e.Epoch && old.from != noSlot {
		at = old.said // a copy of the request does not postpone the time at which the eviction is final
	}
	if end(!s.quorum.cutOff()); !had && !s.quorum.cutOff() {
		s.said(e, from, at)
	} else if g, ok := s.tombstones.of(e.Client, e.Incarnation); had && ok {
		g.said, g.epoch, g.from = old.said, old.epoch, old.from
		s.tombstones.set(e.Client, g)
	}
}

// said records which server ordered the incarnation's latest tombstone, and at what time.
func (s *Server) said(e *wire.Entry, from int32, at time.Duration) {
	g, ok := s.tombstones.of(e.Client, e.Incarnation)
	if !ok {
		return
	}
	if g.said, g.epoch, g.from = at, e.Epoch, from; from == unnamed && e.Epoch == 0 {
		s.noChoiceTold(&g, at)
	}
	s.tombstones.set(e.Client, g)
}

// noChoiceTold records in the tombstone g that another server has reported a second tombstone of the same incarnation,
// which names no choice of a master and was ordered at the given time. The second tombstone counts even after the
// eviction of g is withdrawn.
func (s *Server) noChoiceTold(g *tombstone, ordered time.Duration) {
	g.noChoice = max(g.noChoice, ordered+s.cfg.tombstone())
}

// recent reports whether a tombstone is not final yet.
func (s *Server) recent(g tombstone) bool {
	return !g.void && g.from != noSlot && s.now < g.said+s.cfg.lastWord()
}

// overtaken reports whether a message shows a choice of a master that the client made after the
// choice to which a recent tombstone belongs. It also reports that of an incarnation whose eviction this
// server has given up: it may be about to withdraw the eviction.
func (s *Server) overtaken(m *wire.Message) bool {
	g, ok := s.tombstones.refusing(m.Client)
	if !ok || g.incarnation != m.Incarnation {
		return false
	}
	e := wire.Entry{Client: m.Client, Incarnation: m.Incarnation, Epoch: g.epoch}
	return s.evictions.givenUpOf(&e) != nil || s.recent(g) && e.Before(m.Epoch)
}

// withdrawn applies the withdrawal of an eviction. Copies of the eviction may still arrive, so the
// tombstone of the incarnation, which is void if no other eviction counts, records that it was withdrawn.
func (s *Server) withdrawn(from int32, e wire.Entry) {
	if i, ok := s.find(e.Client); ok && s.conn(i).incarnation == e.Incarnation {
		s.evictions.evictsNoMore(&e, from)
	}
	if from != s.members.self {
		s.evictions.givenUpOf(&e).withdrawn(&e)
	}
	g, ok := s.tombstones.of(e.Client, e.Incarnation)
	switch {
	case e.Incarnation > s.believed(e.Client):
		s.stats.Ahead++
		return
	case ok && g.taken.has(from, e.Epoch): // a copy: what this server has learned since counts
		s.tombstones.takes(&e, from)
		return
	case ok && !g.void:
		s.tombstones.takes(&e, from)
		if !g.withdrawnBy(from, &e) || s.revoke(e.Client, e.Incarnation, e.Epoch == 0) {
			return
		}
	}
	s.catchup.doubts.withdrawn(s, &e)
	s.stats.Forgotten += s.tombstones.add(e.Client, tombstone{incarnation: e.Incarnation, until: s.now + s.cfg.tombstone(), void: true}, nid.NID{}, s.incarnation(e.Client))
	s.tombstones.takes(&e, from)
	s.tombstones.voided(&e, from)
}

// withdrawnBy reports whether the withdrawal of an eviction by the server from also removes this tombstone of the
// same incarnation. A tombstone for a later choice stays. A tombstone whose origin is not known (unnamed) is
// removed, unless it names no choice of a master and the withdrawal does. Such a tombstone is that of an orphan,
// and the withdrawal may be much older.
func (g *tombstone) withdrawnBy(from int32, e *wire.Entry) bool {
	return !e.Before(g.epoch) && (g.from == from || g.from == unnamed && (g.epoch != 0 || e.Epoch == 0))
}

// takenBack reports whether an eviction by the server from is a late copy of one that the same server has
// withdrawn. For a tombstone that was learned from another server, from is unnamed, and the withdrawal by any
// server counts.
func (s *Server) takenBack(e *wire.Entry, from int32) bool {
	g, ok := s.tombstones.of(e.Client, e.Incarnation)
	return ok && g.taken.of(e, from)
}

// copyTold reports whether a tombstone that another server reports belongs to an eviction that was withdrawn. It
// does not if it names no choice of a master and all withdrawals do: then it is the tombstone of an orphan, or the
// one that a master keeps of its own eviction. The eviction of such a tombstone may be older or newer than the
// withdrawal, which may arrive late.
func (s *Server) copyTold(e *wire.Entry) bool {
	g, ok := s.tombstones.of(e.Client, e.Incarnation)
	return ok && g.taken.of(e, unnamed) && (e.Epoch != 0 || g.taken.anyChoice())
}

// revokeRecent is called when this server loses its quorum. It drops the tombstones that are not
// final, because the majority decides about these clients.
func (s *Server) revokeRecent() {
	for _, p := range s.tombstones.queue {
		for _, b := range s.tombstones.list(p.id) {
			g, _ := s.tombstones.of(p.id, b.incarnation)
			if g.noChoice != 0 && s.now < g.noChoice-s.cfg.tombstone()+s.cfg.lastWord() {
				g.noChoice = 0
				s.tombstones.set(p.id, g)
			}
			if s.recent(g) {
				s.revoke(p.id, g.incarnation, false)
			}
		}
	}
}

// revoke drops the tombstone of an incarnation, here and in the store, because its eviction no longer counts. Evictions
// of other incarnations still count. Another tombstone of this incarnation may remain, see remaining. The withdrawals that
// this server knows of stay as well. The result tells whether the incarnation is still refused.
func (s *Server) revoke(id wire.ClientID, incarnation uint64, all bool) (refused bool) {
	s.stats.Revoked++
	g, _ := s.tombstones.of(id, incarnation)
	s.emit(ServerEffect{Kind: DoRemove, Client: id, Incarnation: incarnation, For: -1})
	g, until := s.remaining(g, all)
	if refused = !g.void; refused {
		s.emit(ServerEffect{Kind: DoRemove, Client: id, Incarnation: incarnation, For: until - s.now})
	}
	if refused || g.taken.any() {
		s.tombstones.set(id, g)
	} else {
		s.tombstones.keep(id, slices.DeleteFunc(s.tombstones.list(id), func(b tombstone) bool { return b.incarnation == incarnation }))
	}
	for _, b := range s.tombstones.list(id) { // the store has dropped them as well
		if b.incarnation < incarnation && !b.void && b.until > s.now {
			s.emit(ServerEffect{Kind: DoRemove, Client: id, Incarnation: b.incarnation, Epoch: b.epoch, For: b.until - s.now})
		}
	}
	s.saveAgain(id)
	return refused
}

// remaining returns the tombstone that remains of g when its eviction no longer counts, and until when it lasts in
// the store. That is the second tombstone of the incarnation, if noChoiceTold has recorded one and the parameter all
// is not set; otherwise, if the incarnation has left, the tombstone for that; otherwise a void one. In memory the
// second tombstone lasts as long as g if this server knows of a withdrawal, which it must remember for that long.
func (s *Server) remaining(g tombstone, all bool) (rest tombstone, until time.Duration) {
	switch {
	case !all && g.epoch != 0 && g.noChoice > s.now:
		g.said, g.epoch, g.from = g.noChoice-s.cfg.tombstone(), 0, unnamed
		if !g.taken.any() {
			g.until = g.noChoice
		}
		return g, g.noChoice
	case g.left:
		g.epoch, g.from, g.noChoice = 0, noSlot, 0
	default:
		g.void, g.noChoice = true, 0
	}
	return g, g.until
}

// saveAgain saves the record of a client that is connected, because DoRemove for a tombstone has removed it, too.
func (s *Server) saveAgain(id wire.ClientID) {
	if i, ok := s.find(id); ok {
		s.save(0, s.conn(i))
	}
}
