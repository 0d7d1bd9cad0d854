package engine

import "time"

// deadlines is a heap of connections, ordered by due time. Each connection stores its position
// in the heap; a connection that is not in the heap has the position noSlot.
type deadlines struct{ heap []int32 }

const noSlot = -1

// set inserts a connection, or changes its due time.
func (s *Server) set(i int32, due time.Duration) {
	d, c := &s.deadlines, s.conn(i)
	// Deadlines are rounded to a tenth of a tick, so that one step handles many of them.
	grid := max(s.cfg.Tick/10, 1)
	c.due = (due + grid - 1) / grid * grid
	if c.pos == noSlot {
		c.pos = int32(len(d.heap))
		d.heap = append(d.heap, i)
	}
	s.up(int(c.pos))
	s.down(int(c.pos))
}

// unset removes a connection from the heap of deadlines.
func (s *Server) unset(i int32) {
	d, c := &s.deadlines, s.conn(i)
	if c.pos == noSlot {
		return
	}
	at, last := int(c.pos), len(d.heap)-1
	s.swap(at, last)
	d.heap = d.heap[:last]
	c.pos = noSlot
	if at < last {
		s.up(at)
		s.down(at)
	}
}

// less orders by due time, then by slot in the table.
func (s *Server) less(a, b int) bool {
	x, y := s.deadlines.heap[a], s.deadlines.heap[b]
	if p, q := s.conn(x).due, s.conn(y).due; p != q {
		return p < q
	}
	return x < y
}

func (s *Server) swap(a, b int) {
	h := s.deadlines.heap
	h[a], h[b] = h[b], h[a]
	s.conn(h[a]).pos, s.conn(h[b]).pos = int32(a), int32(b)
}

func (s *Server) up(i int) {
	for i > 0 && s.less(i, (i-1)/2) {
		s.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (s *Server) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(s.deadlines.heap); child++ {
			if s.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		s.swap(i, least)
		i = least
	}
}
