package engine

import "ulnet/health/wire"

// choose handles a client's choice of another master: "you are my new master", or
// "my new master is B" (CH-16 to CH-19).
func (s *Server) choose(q *asked) {
	i, c, code := s.lookup(q)
	if code == wire.OK {
		c.sequence = max(c.sequence, q.m.Sequence) // the client wants this connection, so a late copy of an earlier farewell must not end it
		code = s.chosen(i, c, q)
	}
	if k, ok := s.find(q.m.Client); ok && code == wire.Busy && c == nil && s.conn(k).state == saving && s.conn(k).incarnation == q.m.Incarnation {
		s.chosenAgain(s.conn(k), q)
		return
	}
	s.stats.Choices[code]++
	s.answer(q, wire.Chosen, code, c)
}

// chosen applies the choice, unless it is older than the one that this server has recorded
// (CH-62).
func (s *Server) chosen(i int32, c *conn, q *asked) wire.Code {
	if code := s.refuses(c, q); code != wire.OK {
		return code
	}
	if q.m.Epoch > c.epoch || c.state == recovering {
		master, _ := s.members.find(q.m.Server)
		s.rehome(i, c, master, q.m.Epoch)
	}
	s.spoke(c, q) // the message shows that the client is alive, even if this server had recorded another master
	return wire.OK
}

// chosenAgain records a later choice of a client whose record is being saved. Otherwise this server would obey an
// eviction by the client's former master, and refuse the client for good. There is no answer yet: Server.saved sends
// it once the record is durable.
func (s *Server) chosenAgain(c *conn, q *asked) {
	c.sequence = max(c.sequence, q.m.Sequence)
	if q.m.Epoch > c.epoch && s.refuses(c, q) == wire.OK {
		c.master, _ = s.members.find(q.m.Server)
		c.epoch = q.m.Epoch
		s.save(0, c)
	}
}

// refuses returns the code with which this server refuses a choice; OK: it does not.
func (s *Server) refuses(c *conn, q *asked) wire.Code {
	m := q.m
	master, known := s.members.find(m.Server)
	self := master == s.members.self
	switch {
	case m.Epoch < c.epoch, m.Epoch == c.epoch && master != c.master:
		return wire.OldEpoch
	case !known:
		return wire.UnknownServer
	case m.Epoch > maxEpoch:
		return wire.Ahead
	case m.Epoch == c.epoch && c.state == orphaned:
		return wire.Orphaned
	case !s.quorum.have && (self || !s.members.alive(master)): // a server without a quorum cannot tell which servers are dead
		return wire.NoQuorum
	case self && m.Epoch > c.epoch && s.tooSlow(m):
		return wire.OtherTimes
	case self && s.drains() && m.Epoch > c.epoch:
		return wire.Draining
	case !self && !s.claims.verify(m.Token, m.Client, m.Incarnation, m.Server, m.Epoch):
		return wire.BadClaim
	case !s.members.alive(master): // the new master is dead (CH-A18)
		return wire.MasterDead
	}
	return wire.OK
}

// rehome changes the master of a connection.
func (s *Server) rehome(i int32, c *conn, master int32, epoch uint32) {
	s.become(c, connected)
	c.master, c.epoch, c.previous = master, epoch, noSlot
	delete(s.evictions.rivals, c.id)
	s.watch(i, c)
	s.save(0, c)
	s.tell(ClientRehomed, c, 0)
}
