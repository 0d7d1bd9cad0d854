package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// Who evicts a client may be cut off without knowing yet, and the client have
// another master on the other side. So what another server said of an eviction is
// not the last word for a while: it can be taken back, a server that turns out to
// be cut off forgets it, and who shows a later choice of a master is not told that
// all have evicted it, but to come back.

// lastWord is after how long an eviction by another server is final. Discovery
// tells a server that is cut off in less than that.
func (t *Timing) lastWord() time.Duration { return 2 * t.Evict }

// heardOf has an eviction made that another server wants. There is no tombstone
// while this one is cut off. What is final stays so, and what a later master said.
func (s *Server) heardOf(e *wire.Entry, from int32, end func(bury bool)) {
	old, had := s.tombstones.incarnations[e.Client]
	had = had && old.incarnation == e.Incarnation && (old.from == noPlace || e.Before(old.epoch))
	if end(!s.quorum.cutOff()); !had && !s.quorum.cutOff() {
		s.tombstones.said(e, from, s.now)
	} else if g, ok := s.tombstones.incarnations[e.Client]; had && ok {
		g.said, g.epoch, g.from = old.said, old.epoch, old.from
		s.tombstones.incarnations[e.Client] = g
	}
}

// said notes that another server said what was buried last of a client.
func (t *tombstones) said(e *wire.Entry, from int32, at time.Duration) {
	g, ok := t.incarnations[e.Client]
	if !ok || g.incarnation != e.Incarnation {
		return
	}
	g.said, g.epoch, g.from = at, e.Epoch, from
	t.incarnations[e.Client] = g
}

// recent reports whether a tombstone is not final.
func (s *Server) recent(g tombstone) bool {
	return !g.void && g.from != noPlace && s.now < g.said+s.cfg.lastWord()
}

// overtaken reports whether a message shows a choice of a master that was made
// after the one whose end a recent tombstone tells.
func (s *Server) overtaken(m *wire.Message) bool {
	g, ok := s.tombstones.incarnations[m.Client]
	e := wire.Entry{Epoch: g.epoch}
	return ok && g.incarnation == m.Incarnation && s.recent(g) && e.Before(m.Epoch)
}

// withdrawn takes back what the same server has said before, or what is still on its
// way: the eviction may come once more.
func (s *Server) withdrawn(from int32, e wire.Entry) {
	g, ok := s.tombstones.incarnations[e.Client]
	switch {
	case e.Incarnation > s.believed(e.Client):
		s.stats.Ahead++
		return
	case ok && g.incarnation > e.Incarnation, ok && g.incarnation == e.Incarnation && (g.from != from && g.from != somebody && !g.void || e.Before(g.epoch)):
		return
	case ok && g.incarnation == e.Incarnation && !g.void:
		s.pardon(e.Client, g)
	}
	delete(s.catchup.doubts, e.Client)
	s.stats.Forgotten += s.tombstones.bury(e.Client, e.Incarnation, s.now+s.cfg.tombstone(), nid.NID{})
	if g, ok = s.tombstones.incarnations[e.Client]; !ok {
		return // for want of room
	}
	g.void, g.from, g.epoch = true, from, e.Epoch
	s.tombstones.incarnations[e.Client] = g
}

// takenBack reports whether an eviction is one that was withdrawn, and comes late.
func (s *Server) takenBack(e *wire.Entry) bool {
	g, ok := s.tombstones.incarnations[e.Client]
	withdrawn := wire.Entry{Epoch: g.epoch}
	return ok && g.void && g.incarnation == e.Incarnation && !withdrawn.Before(e.Epoch)
}

// pardonRecent forgets what this server was told in the last while, since it was
// cut off: the others decide.
func (s *Server) pardonRecent() {
	for _, p := range s.tombstones.queue {
		if g, ok := s.tombstones.incarnations[p.id]; ok && s.recent(g) {
			s.pardon(p.id, g)
		}
	}
}

// pardon forgets a tombstone, here and in the store.
func (s *Server) pardon(id wire.ClientID, g tombstone) {
	s.stats.Pardoned++
	s.tombstones.remove(id)
	s.emit(ServerEffect{Kind: DoRemove, Client: id, Incarnation: g.incarnation, For: -1})
	if i, ok := s.find(id); ok { // its record went, too
		s.save(0, s.conn(i))
	}
}
