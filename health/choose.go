package health

// choose takes a client's choice of another master: "you are my new master", or
// "my new master is B" (seed 001, Specification 7 and 8).
func (s *Server) choose(q *asked) {
	i, c, code := s.lookup(q)
	if code == OK {
		code = s.chosen(i, c, q)
	}
	if k, ok := s.find(q.m.Client); ok && code == Busy && c == nil && s.conn(k).state == saving {
		s.conn(k).sequence = q.m.Sequence // accepted, or not, answers when that is done
		return
	}
	s.stats.Choices[code]++
	s.answer(q, Chosen, code, c)
}

// chosen applies the choice, unless it is older than what is known (CH-62).
func (s *Server) chosen(i int32, c *conn, q *asked) Code {
	m := q.m
	master, known := s.members.find(m.Server)
	self := master == s.members.self
	switch {
	case m.Epoch < c.epoch, m.Epoch == c.epoch && master != c.master:
		return OldEpoch
	case !known:
		return UnknownServer
	case m.Epoch == c.epoch && c.state == orphaned:
		return Orphaned
	case !s.quorum.have && (self || !s.members.alive(master)): // who is cut off cannot tell who is dead
		return NoQuorum
	case self && m.Epoch > c.epoch && s.tooSlow(m):
		return OtherTimes
	case self && s.drains() && m.Epoch > c.epoch:
		return Draining
	case !self && !s.cfg.Claims.verify(m.Token, m.Client, m.Incarnation, m.Server, m.Epoch):
		return BadClaim
	case !s.members.alive(master): // CH-A18
		return MasterDead
	}
	if m.Epoch > c.epoch || c.state == recovering {
		s.rehome(i, c, master, m.Epoch)
	}
	s.spoke(c, q) // also if it had another master before
	return OK
}

// rehome gives a connection a master.
func (s *Server) rehome(i int32, c *conn, master int32, epoch uint32) {
	s.become(c, connected)
	c.master, c.epoch, c.previous = master, epoch, noPlace
	s.watch(i, c)
	s.save(0, c)
	s.tell(ClientRehomed, c, 0)
}
