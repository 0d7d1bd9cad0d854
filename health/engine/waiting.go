package engine

import (
	"time"

	"ulnet/health/wire"
)

// waiting are connects that wait for the eviction of the client's earlier incarnation (CH-A21),
// one for each client.
type waiting struct {
	clients map[wire.ClientID]*waiter
	queue   []waitSlot // waiting connects in the order of arrival
}

type waiter struct {
	asked
	since time.Duration
}

type waitSlot struct {
	id    wire.ClientID
	since time.Duration
}

func (w *waiting) init() { w.clients = make(map[wire.ClientID]*waiter) }

func (w *waiting) of(id wire.ClientID) *waiter { return w.clients[id] }

// add makes a connect wait. If another connect of the client is waiting, the later incarnation
// of the two stays.
func (w *waiting) add(s *Server, q *asked) {
	m := q.m
	since := s.now
	if old := w.clients[m.Client]; old != nil {
		if i, ok := s.find(m.Client); ok && old.from != q.from && rank(s.conn(i), q.from) <= rank(s.conn(i), old.from) {
			s.reject(q, wire.Message{Code: wire.Busy, Retry: s.cfg.Broadcast}) // a connect from another process is already waiting for this client
			return
		}
		since = old.since
		if old.m.Incarnation < m.Incarnation {
			s.reject(&old.asked, wire.Message{Code: wire.Stale, Incarnation: m.Incarnation, Server: q.from.NID})
		}
	} else {
		w.queue = append(w.queue, waitSlot{m.Client, since})
	}
	w.clients[m.Client] = &waiter{q.clone(), since}
}

// resume handles the waiting connect of a client again, because the client's earlier incarnation
// is gone.
func (w *waiting) resume(s *Server, id wire.ClientID) {
	if q := w.clients[id]; q != nil {
		delete(w.clients, id)
		q.waited = true
		s.connect(&q.asked)
	}
}

// givesUp handles the farewell q of an incarnation whose connect waits until an earlier incarnation of the client has
// ended: the connect is dropped, because this server must not accept a client that has left. The result is false if no
// such connect waits, or if the client has sent it after the farewell.
func (s *Server) givesUp(q *asked) bool {
	sent := func(w *asked) bool { return w.sameAs(q) && (q.m.Sequence == 0 || q.m.Sequence > w.m.Sequence) }
	w, x := s.waiting.of(q.m.Client), s.takeovers.clients[q.m.Client]
	switch {
	case w != nil && sent(&w.asked):
		delete(s.waiting.clients, q.m.Client)
	case x != nil && !x.refused && sent(&x.asked):
		x.refused = true
	default:
		return false
	}
	return true
}

// expire refuses connects that have waited for too long: the client must try again.
func (w *waiting) expire(s *Server) {
	for len(w.queue) > 0 && w.queue[0].since+3*s.cfg.Broadcast <= s.now {
		p := w.queue[0]
		w.queue = w.queue[1:]
		if q := w.clients[p.id]; q != nil && q.since == p.since {
			delete(w.clients, p.id)
			s.reject(&q.asked, wire.Message{Code: wire.Busy, Retry: s.cfg.Broadcast})
		}
	}
}

// clear refuses all waiting connects.
func (w *waiting) clear(s *Server, r wire.Message) {
	for _, p := range w.queue {
		if q := w.clients[p.id]; q != nil {
			delete(w.clients, p.id)
			s.reject(&q.asked, r)
		}
	}
	w.queue = nil
}
