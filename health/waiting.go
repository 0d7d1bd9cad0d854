package health

import "time"

// waiting are connects that wait for the eviction of the client's earlier life
// (CH-A21): one for each client.
type waiting struct {
	clients map[ClientID]*waiter
	queue   []waitPlace // since when
}

type waiter struct {
	asked
	since time.Duration
}

type waitPlace struct {
	id    ClientID
	since time.Duration
}

func (w *waiting) init() { w.clients = make(map[ClientID]*waiter) }

func (w *waiting) of(id ClientID) *waiter { return w.clients[id] }

// add lets a connect wait. A later life takes the place of an earlier one.
func (w *waiting) add(s *Server, q *asked) {
	m := q.m
	since := s.now
	if old := w.clients[m.Client]; old != nil {
		if i, ok := s.find(m.Client); ok && old.from != q.from && rank(s.conn(i), q.from) <= rank(s.conn(i), old.from) {
			s.reject(q, Message{Code: Busy, Retry: s.cfg.Broadcast}) // another process came first
			return
		}
		since = old.since
		if old.m.Incarnation < m.Incarnation {
			s.reject(&old.asked, Message{Code: Stale, Incarnation: m.Incarnation, Server: q.from.NID})
		}
	} else {
		w.queue = append(w.queue, waitPlace{m.Client, since})
	}
	w.clients[m.Client] = &waiter{q.clone(), since}
}

// resume lets a connect go on when the earlier life is gone.
func (w *waiting) resume(s *Server, id ClientID) {
	if q := w.clients[id]; q != nil {
		delete(w.clients, id)
		q.waited = true
		s.connect(&q.asked)
	}
}

// expire tells those that have waited for too long to come back.
func (w *waiting) expire(s *Server) {
	for len(w.queue) > 0 && w.queue[0].since+3*s.cfg.Broadcast <= s.now {
		p := w.queue[0]
		w.queue = w.queue[1:]
		if q := w.clients[p.id]; q != nil && q.since == p.since {
			delete(w.clients, p.id)
			s.reject(&q.asked, Message{Code: Busy, Retry: s.cfg.Broadcast})
		}
	}
}

// clear refuses all that wait.
func (w *waiting) clear(s *Server, r Message) {
	for _, p := range w.queue {
		if q := w.clients[p.id]; q != nil {
			delete(w.clients, p.id)
			s.reject(&q.asked, r)
		}
	}
	w.queue = nil
}
