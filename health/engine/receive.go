package engine

import (
	"errors"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// asked is a message that this server is answering.
type asked struct {
	from        nid.ProcessID
	at          time.Duration // active time at which the message arrived
	incarnation uint64        // incarnation of the NI that sent the message
	m           *wire.Message

	granted bool // the message is a connect that takeover.go has let pass: the process that was connected is gone
	waited  bool // the message is a connect that had to wait before this server handled it
}

// arrived handles a message of a client or a server.
func (s *Server) arrived(in *ServerInput) {
	m, err := wire.ParseMessage(in.Data)
	if err != nil {
		s.malformed(err)
		return
	}
	q := &asked{from: s.sender(in, &m), at: s.now, incarnation: in.PeerIncarnation, m: &m}
	if in.At > 0 {
		q.at = min(s.pauses.stamp(in.At), s.now)
	}
	switch m.Kind {
	case wire.Connect:
		s.stats.Connects++
		if !s.proven(q, in.Data) {
			s.unproven(q)
			return
		}
		s.connect(q)
	case wire.Ping:
		s.stats.Pings++
		s.pinged(q)
	case wire.Choose:
		s.stats.Chosen++
		s.choose(q)
	case wire.Disconnect:
		s.disconnect(q)
	case wire.Here:
		s.stats.Answers++
		s.here(q)
	case wire.Digest:
		s.digest(q)
	case wire.DigestReply:
		s.digestReply(q)
	case wire.Tombstones:
		s.tombstonesAsked(q)
	case wire.TombstonesReply:
		s.tombstonesTold(q)
	default:
		s.stats.Unexpected++
	}
}

// malformed counts a message that cannot be parsed.
func (s *Server) malformed(err error) {
	switch {
	case errors.Is(err, wire.ErrVersion):
		s.stats.OtherVersion++
	case errors.Is(err, wire.ErrName):
		s.stats.BadName++
	default:
		s.stats.Malformed++
	}
}

// answer sends the answer to a message about connection c; nil: there is none.
func (s *Server) answer(q *asked, kind wire.Kind, code wire.Code, c *conn) {
	a := wire.Message{
		Kind: kind, Code: code, Client: q.m.Client, Incarnation: q.m.Incarnation, Sequence: q.m.Sequence, Epoch: q.m.Epoch,
	}
	if c != nil {
		a.Epoch, a.Server = c.epoch, s.members.nid(c.master)
		if code == wire.OK && s.ours(c) && kind == wire.Chosen {
			a.Token = s.claims.append(nil, c.id, c.incarnation, s.cfg.Self, c.epoch)
		}
	}
	switch {
	case code == wire.OtherTimes:
		a.Epoch = s.otherTimes().Epoch
	case code == wire.OK && kind == wire.Chosen:
		a.Retry = s.cfg.evictTold()
	}
	if i, ok := s.find(q.m.Client); ok && code == wire.Stale {
		a.Server = s.conn(i).peer.NID
	}
	s.send(q.from, &a)
}

// lookup finds the connection of the client that sent the message q, which is of any kind but
// connect. If the message does not belong to a connection that is in use, lookup returns the code
// with which the server refuses the message.
func (s *Server) lookup(q *asked) (int32, *conn, wire.Code) {
	m := q.m
	i, ok := s.find(m.Client)
	if !ok {
		switch _, dead := s.tombstones.covers(m.Client, m.Incarnation); {
		case dead && s.overtaken(m):
			return 0, nil, wire.Busy
		case dead:
			return 0, nil, wire.Global
		}
		return 0, nil, wire.NotConnected
	}
	c := s.conn(i)
	switch {
	case c.incarnation > m.Incarnation:
		return 0, nil, wire.Stale
	case c.incarnation < m.Incarnation && s.waits(q):
		return 0, nil, wire.Busy
	case c.incarnation < m.Incarnation:
		return 0, nil, wire.NotConnected
	case c.peer != q.from:
		s.stats.Foreign++
		return 0, nil, wire.Foreign
	case c.state == evicting || c.state == saving:
		return 0, nil, wire.Busy
	}
	s.spoke(c, q)
	return i, c, wire.OK
}

// waits reports whether a connect of the incarnation that sent the message q waits until an earlier incarnation of the
// client has ended. The connect may still be accepted, so this server must not say that the client is not connected.
func (s *Server) waits(q *asked) bool {
	w, x := s.waiting.of(q.m.Client), s.takeovers.clients[q.m.Client]
	return w != nil && w.sameAs(q) || x != nil && !x.refused && x.sameAs(q)
}

// sameAs reports whether the two messages are of the same incarnation and process of a client.
func (q *asked) sameAs(other *asked) bool {
	return q.from == other.from && q.m.Incarnation == other.m.Incarnation
}

// pinged answers a ping with the state of the connection. Every message of a client is a sign
// of liveness (CH-8).
func (s *Server) pinged(q *asked) {
	i, c, code := s.lookup(q)
	if code == wire.OK {
		if c.state == recovering && s.ours(c) && q.m.Epoch == c.epoch {
			s.confirm(i, c)
		}
		s.spoke(c, q) // the message shows that the client is alive, even if this server was not certain that it is the master
		code = s.standing(c)
	}
	s.answer(q, wire.Pong, code, c)
}

// standing returns the code that describes a connection to its client.
func (s *Server) standing(c *conn) wire.Code {
	switch {
	case c.state == orphaned || c.state == recovering:
		return wire.Orphaned
	case !s.ours(c):
		return wire.OtherMaster
	case s.drains():
		return wire.Draining
	}
	return wire.OK
}

// touch records a sign of liveness at the time when the message was received, because it may
// have waited in a queue before it is handled (CH-35).
func (s *Server) touch(c *conn, at time.Duration) {
	if c.state == connected && s.ours(c) {
		c.seen = max(c.seen, at)
	}
}

// spoke records that the client itself has sent a message, whatever this server answers.
func (s *Server) spoke(c *conn, q *asked) {
	s.takeovers.answered(s, c, q)
	s.touch(c, q.at)
	c.carrier = q.incarnation
	if (c.state == connected || c.state == recovering) && s.ours(c) {
		c.said, c.asked = max(c.said, q.at), false
	}
}

// refusedToo handles the connect of an incarnation that is connected already: it records that the
// client is alive, even if a later check refuses the connect.
func (s *Server) refusedToo(q *asked) {
	if i, ok := s.find(q.m.Client); ok && s.conn(i).incarnation == q.m.Incarnation && s.conn(i).peer == q.from {
		s.spoke(s.conn(i), q)
	}
}

// here handles the answer to an Ask. An answer that the incarnation has ended may come from a later
// incarnation of the client.
func (s *Server) here(q *asked) {
	i, c, code := s.lookup(q)
	if code != wire.OK || q.m.Code == wire.OK {
		return
	}
	s.takeovers.grant(s, c.id)
	if c.state == connected && s.ours(c) {
		s.evict(i, wire.TimedOut)
	}
}

// seen handles the transport's answer to DoLook. If the answer is late, seen moves the next tick forward, so
// that the decision about the client is not delayed even more.
func (s *Server) seen(in *ServerInput) {
	i, ok := s.find(in.Client)
	if !ok {
		return
	}
	c := s.conn(i)
	if !in.Failed {
		s.touch(c, min(s.pauses.stamp(in.At), s.now))
	}
	if c.look == lookSent {
		c.look = lookDone
		s.tick = min(s.tick, max(c.seen+s.cfg.Evict+s.cfg.Tick, s.now+s.cfg.Tick/lookShare))
	}
}
