package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// due handles an expired deadline of a connection.
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

// silent checks whether the client has sent a message since its deadline was set. If it has not,
// silent asks the transport, which may have received messages of other protocols from the
// client's node. The first tick after the answer decides whether to evict the client.
func (s *Server) silent(i int32, c *conn) {
	switch {
	case !s.ours(c):
		s.unset(i)
	case c.said+s.cfg.Evict > s.now:
		c.asked = false
		s.set(i, c.said+s.cfg.Evict)
	default:
		s.suspect(i, c)
		s.set(i, s.now+s.cfg.Evict)
		s.tick = min(s.tick, min(c.seen+s.cfg.Evict, s.now)+s.cfg.Tick)
	}
}

// inquire sends an Ask to a client that is silent itself while its node sends other messages.
// These messages may come from other programs, and do not show that the client is alive.
func (s *Server) inquire(i int32, c *conn) {
	c.look = lookNone
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

// unanswered reports whether a client has not answered an Ask for T_evict: it counts as dead.
func (s *Server) unanswered(c *conn) bool { return c.asked && c.said+2*s.cfg.Evict <= s.now }

// orphanAll makes the clients of a server that has died orphans (CH-18).
func (s *Server) orphanAll(master int32) {
	s.each(func(i int32, c *conn) {
		if c.master == master && c.state == connected {
			s.orphan(i)
		}
	})
}

// orphan gives a client T_orphan to choose another master. For a recovering client that time is
// running already.
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

// remind tells an orphaned or recovering client that its master is dead or has not confirmed the client,
// in case the client has not noticed (CH-A19), and repeats the notice, which may be lost. At the end of
// T_orphan it evicts the client (CH-20). But a client that was restored with this server as its master
// is not evicted then: after T_evict it counts as connected, and this server watches over it.
func (s *Server) remind(i int32, c *conn) {
	end := c.seen + s.cfg.Orphan
	if s.ours(c) {
		end = c.seen + s.cfg.Evict
	}
	switch {
	case s.now < end:
	case s.ours(c):
		s.become(c, connected)
		c.seen = max(c.seen, c.said)
		s.silent(i, c)
		return
	case !s.quorum.have:
		// A server that is cut off cannot tell which servers are dead, and cannot evict a
		// client from all of them. It evicts locally instead, when quorum.judge decides that.
		end = s.now + s.cfg.Orphan
	default:
		s.notify(c, wire.Global)
		s.end(i, wire.LostMaster, true)
		return
	}
	if s.quorum.have { // without a quorum this server would refuse the client, so it does not invite it
		s.notify(c, wire.Orphaned)
	}
	s.set(i, min(s.now+s.cfg.Orphan/6, end))
}

// orphansAnew is called when this server has won the quorum, which it lacked since the time in the parameter
// since. Without it this server accepted no choice of a master, so that time does not count towards T_orphan,
// and orphans and recovering clients have T_elect and four ticks left at least. They are told two to three
// ticks from now, spread over the slots, since they may wait for long until they ask again; masters confirm
// recovering clients meanwhile. A client whose master is this server needs no quorum for the ping that
// confirms it, so its T_evict goes on.
func (s *Server) orphansAnew(since time.Duration) {
	const spread = 64
	s.each(func(i int32, c *conn) {
		if c.state != orphaned && c.state != recovering {
			return
		}
		if !s.ours(c) {
			left := min(s.cfg.Elect+4*s.cfg.Tick, s.cfg.Orphan)
			c.seen = max(c.seen+s.now-max(c.seen, since), s.now+left-s.cfg.Orphan)
		}
		told := s.now + min(2*s.cfg.Tick+s.cfg.Tick/spread*time.Duration(i%spread), s.cfg.Orphan/3)
		if c.pos != noSlot { // the deadline is never put off, however often the quorum comes and goes
			told = min(told, max(c.due, s.now))
		}
		s.set(i, told)
	})
}

// superseded notifies a client of a later incarnation. If the client still runs, two clients
// have one id, and the notified one must stop: if it connected again, the two would evict each
// other over and over. The parameter by is the NID at which the later incarnation runs, or zero
// if this server does not know it.
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

// restore creates a connection from a record that was saved before a restart (CH-66). If this
// server is the client's master, the client counts as heard at this instant. Otherwise the
// client waits until its master confirms it. Even the recorded master is not certain, because
// the client may have chosen another one while this server was down. If the old master evicts
// such a client, servers that know of the later choice do not obey.
func (s *Server) restore(r *Record) {
	if _, known := s.find(r.Client); known || !r.Client.IsValid() {
		s.stats.Late++
		return
	}
	i := s.add(r.Client, r.Peer)
	c := s.conn(i)
	c.incarnation, c.name, c.epoch = r.Incarnation, r.Name, max(r.Epoch, 1) // earlier versions have stored the epoch 0 if a connect named it
	c.master = s.members.intern(r.Master)
	s.become(c, recovering)
	c.seen = s.now
	s.set(i, s.now+s.cfg.Orphan/3)
	s.digests.soon = true
	s.tell(ClientRecovered, c, 0)
}
