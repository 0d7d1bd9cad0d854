package engine

import "ulnet/health/wire"

// connect handles a connect of a client, which names this server or another one as its master
// (client health design, Handling Connection Request; the state table is in connect_test.go).
func (s *Server) connect(q *asked) {
	s.refusedToo(q)
	if r, refused := s.refuse(q); refused {
		s.reject(q, r)
		return
	}
	i, known := s.find(q.m.Client)
	switch {
	case !known:
		s.accept(q, noSlot)
	case s.conn(i).incarnation == q.m.Incarnation:
		s.again(i, q)
	default:
		s.replace(i, q)
	}
}

// reject answers that a client is not connected.
func (s *Server) reject(q *asked, r wire.Message) {
	s.stats.Rejected[r.Code]++
	s.refusal(q, r)
}

// refusal sends a refusal without counting it.
func (s *Server) refusal(q *asked, r wire.Message) {
	r.Kind, r.Client, r.Sequence = wire.Reject, q.m.Client, q.m.Sequence
	if r.Incarnation == 0 {
		r.Incarnation = q.m.Incarnation
	}
	if !r.Server.IsValid() {
		r.Server = q.m.Server
	}
	if r.Epoch == 0 {
		r.Epoch = q.m.Epoch
	}
	s.send(q.from, &r)
}

// refuse makes the checks that do not depend on the client's connection here, and returns the
// refusal.
func (s *Server) refuse(q *asked) (r wire.Message, refused bool) {
	m := q.m
	if !s.quorum.have { // this server has no quorum (CH-21, CH-36)
		return wire.Message{Code: wire.NoQuorum, Retry: s.cfg.Quorum}, true
	}
	i, known := s.find(m.Client)
	switch incarnation, dead := s.tombstones.covers(m.Client, m.Incarnation); {
	case known && s.conn(i).incarnation == m.Incarnation: // no refusal: this incarnation is connected in spite of the tombstone of a later one (see buryLater)
	case dead && s.overtaken(m):
		return wire.Message{Code: wire.Busy, Retry: s.cfg.Broadcast}, true
	case dead:
		return wire.Message{Code: wire.Global, Incarnation: incarnation}, true
	}
	if (!known || s.conn(i).incarnation < m.Incarnation) && s.catchup.holds(s) {
		return wire.Message{Code: wire.Busy, Retry: s.cfg.Try}, true
	}
	if known && s.conn(i).incarnation > m.Incarnation {
		return wire.Message{Code: wire.Stale, Incarnation: s.conn(i).incarnation, Server: s.conn(i).peer.NID}, true
	}
	master, ok := s.members.find(m.Server)
	switch {
	case !ok:
		return wire.Message{Code: wire.UnknownServer}, true
	case m.Epoch > maxEpoch:
		return wire.Message{Code: wire.Ahead}, true
	case master != s.members.self && !s.claims.verify(m.Token, m.Client, m.Incarnation, m.Server, m.Epoch):
		return wire.Message{Code: wire.BadClaim}, true
	}
	if known && s.conn(i).incarnation == m.Incarnation {
		return r, false
	}
	if w := s.waiting.of(m.Client); w != nil && w.m.Incarnation > m.Incarnation {
		return wire.Message{Code: wire.Stale, Incarnation: w.m.Incarnation, Server: w.from.NID}, true
	}
	switch {
	case s.tooSlow(m):
		return s.otherTimes(), true
	case m.Incarnation > s.believed(m.Client):
		return wire.Message{Code: wire.Ahead}, true
	case master == s.members.self && s.drains():
		return wire.Message{Code: wire.Draining}, true
	case !known && s.table.count >= s.cfg.MaxClients:
		return wire.Message{Code: wire.Full, Retry: s.cfg.Evict}, true
	}
	if !known || !sameKind(s.conn(i).peer, q.from) {
		if r, refused = s.crowded(q); refused {
			return r, true
		}
	}
	// This check is the last one, so that connects refused for other reasons take no room in the table
	// of flaps.
	if !s.flaps.allow(s, flapping{m.Client, q.from.NID}, m.Incarnation) {
		return wire.Message{Code: wire.Flapping, Retry: s.flaps.until - s.now}, true
	}
	return r, false
}

// again answers the connect of an incarnation that is connected already: the first answer was
// lost, or the client has chosen another master since.
func (s *Server) again(i int32, q *asked) {
	c, m := s.conn(i), q.m
	master, _ := s.members.find(m.Server)
	if c.peer == q.from {
		s.spoke(c, q)
	}
	switch {
	case c.peer != q.from:
		s.stats.Foreign++
		s.reject(q, wire.Message{Code: wire.Foreign, Server: c.peer.NID})
		return
	case c.state == evicting:
		s.reject(q, wire.Message{Code: wire.Busy, Retry: s.cfg.Broadcast})
		return
	case !s.members.alive(master): // the master is dead (CH-40)
		s.reject(q, wire.Message{Code: wire.MasterDead})
		return
	case m.Epoch == c.epoch && master != c.master:
		s.reject(q, wire.Message{Code: wire.OldEpoch, Server: s.members.nid(c.master)})
		return
	case m.Epoch > c.epoch && master == s.members.self && s.tooSlow(m):
		s.reject(q, s.otherTimes())
		return
	case m.Epoch > c.epoch && master == s.members.self && s.drains():
		s.reject(q, wire.Message{Code: wire.Draining})
		return
	}
	if c.state == saving {
		s.chosenAgain(c, q)
		return
	}
	c.sequence = max(c.sequence, q.m.Sequence) // never lowered: after a late copy of a connect, older disconnects must still be ignored
	if m.Epoch > c.epoch || m.Epoch == c.epoch && c.state == recovering {
		s.rehome(i, c, master, m.Epoch)
	}
	s.spoke(c, q) // the message shows that the client is alive, even if this server had recorded another master
	s.accepted(i)
}

// replace handles a connect whose incarnation is later than the connected one.
func (s *Server) replace(i int32, q *asked) {
	c := s.conn(i)
	previous := c.master
	if s.contested(c, q) {
		return
	}
	switch {
	case c.state == evicting:
		s.waiting.add(s, q)
		s.evictions.urgent = s.evictions.urgent || q.granted
		return
	case s.ours(c) && c.state != saving: // evict the earlier incarnation first (CH-23, CH-39)
		s.evict(i, wire.Rebooted)
		if c.peer != q.from {
			x := &s.evictions.queue[len(s.evictions.queue)-1]
			x.later, x.by = q.m.Incarnation, q.from.NID
		}
		s.evictions.urgent = true
		s.waiting.add(s, q)
		return
	case c.state == saving:
		s.reject(&asked{from: c.peer, m: &wire.Message{Client: c.id, Sequence: c.sequence}}, wire.Message{Code: wire.Stale, Incarnation: q.m.Incarnation, Server: q.from.NID})
	case c.state == orphaned && q.m.Server != s.cfg.Self: // the earlier incarnation's master cannot evict it (CH-37, CH-A12)
		previous = noSlot
	}
	if c.peer != q.from && c.state != saving {
		s.superseded(c, q.m.Incarnation, q.from.NID)
	}
	s.end(i, wire.Rebooted, false)
	s.accept(q, previous)
}

// accept creates a connection for a client that has none. The client gets the answer when the
// record is durable. Clients number their choices of a master from 1. A connect with the epoch 0 counts as one with 1:
// without an epoch, the withdrawal of the client's eviction would end all evictions by the same server.
func (s *Server) accept(q *asked, previous int32) {
	m := q.m
	master, ok := s.members.find(m.Server)
	if !ok || !s.members.alive(master) { // the named master is not a live server (CH-40, CH-A11)
		s.reject(q, wire.Message{Code: wire.MasterDead})
		return
	}
	i := s.add(m.Client, q.from)
	c := s.conn(i)
	c.incarnation, c.sequence, c.name = m.Incarnation, m.Sequence, string(m.Name)
	c.epoch, c.master, c.previous, c.carrier, c.waited = max(m.Epoch, 1), master, previous, q.incarnation, q.waited
	s.become(c, saving)
	s.save(saveID(i, c), c)
}

// saved answers a client whose record is durable, or could not be saved.
func (s *Server) saved(in *ServerInput) {
	s.unsaved.wrote(s, in.Failed)
	i := int32(in.ID>>32) - 1
	if in.ID == 0 || i < 0 || int(i) >= len(s.table.blocks)*blockSize || s.conn(i).gen != uint32(in.ID) || s.conn(i).state != saving {
		if in.Failed {
			s.stats.NotSaved++
		} else {
			s.stats.Late++
		}
		return
	}
	c := s.conn(i)
	if in.Failed {
		s.stats.NotSaved++
		s.reject(s.question(c), wire.Message{Code: wire.StoreFailed, Retry: s.cfg.Ping})
		s.end(i, wire.NeverStored, false)
		return
	}
	s.become(c, connected)
	s.watch(i, c)
	s.doubtWaited(i, c)
	s.tell(ClientConnected, c, 0)
	if !s.members.alive(c.master) {
		s.orphan(i)
	}
	s.accepted(i)
}

// doubtWaited schedules an Ask, one tick later, to a client whose connect had to wait. If the
// client sends a message before that, the Ask is cancelled.
func (s *Server) doubtWaited(i int32, c *conn) {
	if c.waited && s.ours(c) {
		c.said = s.now - s.cfg.Evict
		s.set(i, s.now+s.cfg.Tick)
	}
}

// question returns the connect of a connection whose record is being saved; it has not been
// answered yet.
func (s *Server) question(c *conn) *asked {
	return &asked{from: c.peer, m: &wire.Message{
		Client: c.id, Incarnation: c.incarnation, Sequence: c.sequence, Epoch: c.epoch, Server: s.members.nid(c.master),
	}}
}

// accepted answers that a client is connected, and names the client's previous master if this
// server knows one.
func (s *Server) accepted(i int32) {
	c := s.conn(i)
	a := wire.Message{
		Kind: wire.Accept, Client: c.id, Incarnation: c.incarnation, Sequence: c.sequence, Epoch: c.epoch, Server: s.members.nid(c.previous),
		Retry: s.cfg.evictTold(),
	}
	if c.state != connected {
		a.Code = wire.Orphaned
	}
	if s.ours(c) {
		a.Token = s.claims.append(nil, c.id, c.incarnation, s.cfg.Self, c.epoch)
	}
	s.stats.Accepted++
	s.send(c.peer, &a)
}

// disconnect ends a connection that the client leaves. The message may be a repetition, so the
// answer is always that this incarnation is not connected here. But while the record is being
// saved, or the client is being evicted, there is no answer: the client repeats the message.
func (s *Server) disconnect(q *asked) {
	if i, ok := s.find(q.m.Client); ok && s.conn(i).overdue(q) {
		s.stats.Late++
		return
	}
	i, _, code := s.lookup(q)
	switch {
	case code == wire.OK:
		s.end(i, wire.Left, q.m.Code == wire.OK)
	case code == wire.Busy && s.givesUp(q):
		code = wire.NotConnected
	default:
		s.stats.Late++
	}
	if q.m.Sequence != 0 && code != wire.Busy {
		s.send(q.from, &wire.Message{Kind: wire.Reject, Code: wire.NotConnected, Client: q.m.Client, Incarnation: q.m.Incarnation, Sequence: q.m.Sequence})
	}
}

// overdue reports whether the client sent this farewell before its latest connect or choice of a master. Such a
// farewell does not end the connection. It is no sign of liveness either: the next incarnation repeats the
// farewells of the last one, which may have ended after messages that had no answer.
func (c *conn) overdue(q *asked) bool {
	late := q.m.Sequence != 0 && q.m.Sequence < c.sequence
	return late && c.incarnation == q.m.Incarnation && c.peer == q.from && c.state != evicting && c.state != saving
}
