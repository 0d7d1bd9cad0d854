package engine

import (
	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// due does what the deadline of a connection was set for.
func (s *Server) due(i int32) {
	c := s.conn(i)
	switch c.state {
	case connected:
		s.silent(i, c)
	case orphaned, recovering:
		s.remind(i, c)
	default:
		s.unset(i)
	}
}

// silent looks whether a message of the client has come since its deadline was set. If
// not the transport is asked, which has perhaps heard something else than messages
// of this protocol, and the next tick decides.
func (s *Server) silent(i int32, c *conn) {
	switch {
	case !s.ours(c):
		s.unset(i)
	case c.said+s.cfg.Evict > s.now:
		c.told, c.asked = false, false
		s.set(i, c.said+s.cfg.Evict)
	default:
		c.told = true
		s.emit(ServerEffect{Kind: DoLook, Client: c.id, To: c.peer, Incarnation: c.carrier})
		s.suspect(i, c)
		s.set(i, s.now+s.cfg.Evict)
		s.tick = min(s.tick, min(c.seen+s.cfg.Evict, s.now)+s.cfg.Tick)
	}
}

// inquire asks a client that is silent itself, while its node sends other messages,
// whether it is still there. These may be of other programs, which say nothing of the
// client.
func (s *Server) inquire(i int32, c *conn) {
	c.told = false
	if c.said+s.cfg.Evict > s.now {
		s.set(i, c.said+s.cfg.Evict)
		return
	}
	if !c.asked {
		c.asked, c.said = true, s.now-s.cfg.Evict
	}
	s.stats.Asks++
	s.send(c.peer, &wire.Message{Kind: wire.Ask, Client: c.id, Incarnation: c.incarnation, Epoch: c.epoch})
	s.set(i, min(s.now+s.cfg.Ping/2, c.seen+s.cfg.Evict, c.said+2*s.cfg.Evict))
}

// unanswered reports whether a client was asked for so long that it is taken for dead.
func (s *Server) unanswered(c *conn) bool { return c.asked && c.said+2*s.cfg.Evict <= s.now }

// orphanAll orphans the clients of a server that has died (CH-18).
func (s *Server) orphanAll(master int32) {
	s.each(func(i int32, c *conn) {
		if c.master == master && c.state == connected {
			s.orphan(i)
		}
	})
}

// orphan gives a client some time to choose another master. Who was recovering
// has waited already.
func (s *Server) orphan(i int32) {
	c := s.conn(i)
	if c.state != recovering {
		c.seen = s.now
		s.set(i, s.now+s.cfg.Orphan/3)
	}
	s.become(c, orphaned)
	s.stats.Orphaned++
	s.tell(ClientOrphaned, c, 0)
}

// remind tells an orphan that it is one, in case it has not noticed (CH-A19),
// several times in case a notice is lost, and evicts it in the end (CH-20).
func (s *Server) remind(i int32, c *conn) {
	end := c.seen + s.cfg.Orphan
	if s.ours(c) {
		end = c.seen + s.cfg.Evict
	}
	switch {
	case s.now < end:
	case s.ours(c):
		s.become(c, connected)
		s.silent(i, c)
		return
	case !s.quorum.have:
		// A server that is cut off cannot tell who is dead, nor speak for all:
		// it evicts, here only, when the loss of the quorum counts.
		c.seen, end = s.now, s.now+s.cfg.Orphan
	default:
		s.notify(c, wire.Global)
		s.end(i, wire.LostMaster, true)
		return
	}
	s.notify(c, wire.Orphaned)
	s.set(i, min(s.now+s.cfg.Orphan/6, end))
}

// superseded tells a client of a later incarnation. If it still runs there are two
// clients with one id, of which this one ends: if it came back in its turn, each
// would evict the other over and over. by is where the later incarnation runs, zero if this
// server does not know.
func (s *Server) superseded(c *conn, incarnation uint64, by nid.NID) {
	s.stats.Notices[wire.Stale]++
	s.send(c.peer, &wire.Message{Kind: wire.Notice, Code: wire.Stale, Client: c.id, Incarnation: incarnation, Epoch: c.epoch, Server: by})
}

// notify sends a client a notice (CH-68).
func (s *Server) notify(c *conn, code wire.Code) {
	s.stats.Notices[code]++
	s.send(c.peer, &wire.Message{
		Kind: wire.Notice, Code: code, Client: c.id, Incarnation: c.incarnation, Epoch: c.epoch, Server: s.members.nid(c.master),
	})
}

// restore takes a record from before a restart (CH-66). Of its own clients this
// server has heard just now; the others wait for their master to confirm them.
// Neither is sure of its master: that may be another since this server died, and
// an eviction by the old one would reach just those that do not know either.
func (s *Server) restore(r *Record) {
	if _, known := s.find(r.Client); known || !r.Client.IsValid() {
		s.stats.Late++
		return
	}
	i := s.add(r.Client, r.Peer)
	c := s.conn(i)
	c.incarnation, c.name, c.epoch = r.Incarnation, r.Name, r.Epoch
	c.master = s.members.intern(r.Master)
	s.become(c, recovering)
	c.seen = s.now
	s.set(i, s.now+s.cfg.Orphan/3)
	s.digests.soon = true
	s.tell(ClientRecovered, c, 0)
}
