package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// Any node with a connection can send a connect with another client's id and a later
// incarnation. So if a connect with a later incarnation comes from another process than the
// connected one, it must wait while this server asks the connected process. If the connected
// process answers that it runs, it stays connected, and the server refuses the new one. If the
// connected process answers that it has ended, or does not answer for T_evict, the server
// accepts the new one. If the id is derived from the new process's own NID and PID, the server
// accepts the new process without asking.

// Bounds of the takeovers that wait (rules of this implementation). maxOfOneNID keeps a single node
// from taking all the places that maxTakeovers allows.
const (
	maxTakeovers = 1024 // bound of all waiting takeovers together
	maxOfOneNID  = 16   // bound of waiting takeovers from one NID
)

// takeovers are the connects that wait until the connected process answers or is silent for
// T_evict, at most one per client.
type takeovers struct {
	clients map[wire.ClientID]*takeover
	queue   []wire.ClientID // ids of the clients, the oldest first
	next    time.Duration   // active time of the next question or expiry
}

// takeover is a connect with the id of a client that is connected from another process.
type takeover struct {
	asked
	until   time.Duration // active time at which the takeover is accepted unless the connected process has answered
	askAt   time.Duration // active time at which to ask the connected process again
	refused bool          // the connected process has answered; kept until askAt, to limit the rate of questions
}

func (t *takeovers) init() { t.clients, t.next = make(map[wire.ClientID]*takeover), machine.Never }

// rank returns how much this server trusts a process to speak for a client. It trusts most a
// process from whose NID and PID the client's id is derived, and next the connected process.
func rank(c *conn, from nid.ProcessID) int {
	switch {
	case c.id == wire.ClientIDOf(from.String()):
		return 2
	case c.peer == from:
		return 1
	}
	return 0
}

// contested reports whether a connect is refused for now (Busy), because this server must first ask
// the process that is connected with the same client id whether it still runs.
func (s *Server) contested(c *conn, q *asked) bool {
	if q.granted || c.state == evicting || rank(c, q.from) > 0 {
		return false
	}
	x := s.takeovers.clients[c.id]
	switch {
	case x == nil && s.takeovers.crowded(q.from.NID):
		s.reject(q, wire.Message{Code: wire.Busy, Retry: s.cfg.Evict})
		return true
	case x == nil:
		x = &takeover{until: s.now + s.cfg.Evict, askAt: s.now}
		s.takeovers.clients[c.id] = x
		s.takeovers.queue = append(s.takeovers.queue, c.id)
	case x.refused:
		x.refused, x.until = false, s.now+s.cfg.Evict
	case x.from != q.from: // another process is waiting to take over already
		s.reject(q, wire.Message{Code: wire.Busy, Retry: x.until - s.now})
		return true
	}
	x.asked = q.clone()
	s.takeovers.next = min(s.takeovers.next, x.askAt)
	s.reject(q, wire.Message{Code: wire.Busy, Retry: x.until - s.now})
	return true
}

// crowded reports whether there is no room for another takeover by a process with the given NID.
func (t *takeovers) crowded(by nid.NID) bool {
	if len(t.clients) >= maxTakeovers {
		return true
	}
	n := 0
	for _, id := range t.queue {
		if t.clients[id].from.NID == by {
			n++
		}
	}
	return n >= maxOfOneNID
}

// answered refuses the takeover of a client, because the connected process has just sent a
// message.
func (t *takeovers) answered(s *Server, c *conn, q *asked) {
	if len(t.clients) == 0 {
		return
	}
	x := t.clients[c.id]
	if x == nil || x.refused || q.m.Kind == wire.Here && q.m.Code != wire.OK || q.at < x.at {
		return
	}
	x.refused = true
	s.stats.Refuted++
	s.reject(&x.asked, wire.Message{Code: wire.Foreign, Server: c.peer.NID, Retry: s.cfg.Evict})
}

// grant accepts the takeover of a client in this step, because the old process is gone.
func (t *takeovers) grant(s *Server, id wire.ClientID) {
	if len(t.clients) == 0 {
		return
	}
	if x := t.clients[id]; x != nil && !x.refused {
		x.until, t.next = s.now, s.now
	}
}

// run sends the questions that are due, and accepts the takeovers that have waited for T_evict.
func (t *takeovers) run(s *Server) {
	if s.now < t.next {
		return
	}
	t.next = machine.Never
	queue := t.queue
	t.queue = nil
	for _, id := range queue {
		x := t.clients[id]
		i, known := s.find(id)
		switch {
		case x.refused && s.now >= x.askAt:
			delete(t.clients, id)
			continue
		case !x.refused && (!known || s.now >= x.until || s.conn(i).incarnation >= x.m.Incarnation):
			delete(t.clients, id)
			x.granted, x.waited = true, true
			s.connect(&x.asked)
			continue
		case !x.refused && s.now >= x.askAt:
			s.stats.Asks++
			s.send(s.conn(i).peer, &wire.Message{
				Kind: wire.Ask, Code: wire.Stale, Client: id, Incarnation: s.conn(i).incarnation, Epoch: s.conn(i).epoch, Server: x.from.NID,
			})
			x.askAt = s.now + s.cfg.Ping/2
		}
		at := x.askAt
		if !x.refused {
			at = min(at, x.until)
		}
		t.queue, t.next = append(t.queue, id), min(t.next, at)
	}
}

// clear refuses all waiting takeovers.
func (t *takeovers) clear(s *Server, r wire.Message) {
	for _, id := range t.queue {
		if x := t.clients[id]; !x.refused {
			s.reject(&x.asked, r)
		}
	}
	t.init()
	t.queue = nil
}

// clone returns a copy of q whose message stays valid after the step.
func (q *asked) clone() asked {
	m := *q.m
	m.Name, m.Token, m.Proof = slices.Clone(m.Name), slices.Clone(m.Token), nil
	return asked{from: q.from, at: q.at, incarnation: q.incarnation, m: &m}
}
