package machine

import "time"

// Deadlines is a priority queue of deadlines, the earliest first; of those at one
// instant, the one that was set first. The zero value is empty. It is not safe for
// concurrent use.
type Deadlines[T any] struct {
	heap []*Deadline[T]
	turn uint64 // number of calls of Set so far; it gives deadlines of one instant their order
}

// Deadline is an instant at which something is due. The zero value is not set. A
// Deadline belongs to one Deadlines for as long as it is set, and is not copied then.
type Deadline[T any] struct {
	Of T // the object that the deadline is for; Deadlines does not look at it

	at    time.Duration
	turn  uint64
	index int // index in the heap, from 1; 0: the deadline is not set
}

// IsSet reports whether the deadline is set.
func (d *Deadline[T]) IsSet() bool { return d.index > 0 }

// At is the instant that the deadline was last set to.
func (d *Deadline[T]) At() time.Duration { return d.at }

// First returns the earliest deadline; nil if none is set.
func (s *Deadlines[T]) First() *Deadline[T] {
	if len(s.heap) == 0 {
		return nil
	}
	return s.heap[0]
}

// Next is the instant of the earliest deadline, or Never.
func (s *Deadlines[T]) Next() time.Duration {
	if len(s.heap) == 0 {
		return Never
	}
	return s.heap[0].at
}

// Pop clears the earliest deadline and returns it, if it is not later than until;
// otherwise nil.
func (s *Deadlines[T]) Pop(until time.Duration) *Deadline[T] {
	if len(s.heap) == 0 || s.heap[0].at > until {
		return nil
	}
	d := s.heap[0]
	s.Clear(d)
	return d
}

// Set sets the deadline d to at, or moves it.
func (s *Deadlines[T]) Set(d *Deadline[T], at time.Duration) {
	s.turn++
	d.at, d.turn = at, s.turn
	if d.index == 0 {
		s.heap = append(s.heap, d)
		d.index = len(s.heap)
	}
	s.fix(d)
}

// Clear takes a deadline back, and reports whether it was set.
func (s *Deadlines[T]) Clear(d *Deadline[T]) bool {
	if d.index == 0 {
		return false
	}
	n := len(s.heap) - 1
	last := s.heap[n]
	s.heap[n], s.heap = nil, s.heap[:n]
	if last != d {
		last.index = d.index
		s.fix(last)
	}
	d.index = 0
	return true
}

// fix moves d to its place in the heap. It starts at d.index, where d need not be in the heap yet.
func (s *Deadlines[T]) fix(d *Deadline[T]) {
	i := d.index - 1
	for i > 0 && d.before(s.heap[(i-1)/2]) {
		i = s.move((i-1)/2, i)
	}
	for {
		child := 2*i + 1
		if child+1 < len(s.heap) && s.heap[child+1].before(s.heap[child]) {
			child++
		}
		if child >= len(s.heap) || !s.heap[child].before(d) {
			break
		}
		i = s.move(child, i)
	}
	s.heap[i], d.index = d, i+1
}

func (s *Deadlines[T]) move(from, to int) int {
	s.heap[to] = s.heap[from]
	s.heap[to].index = to + 1
	return from
}

func (d *Deadline[T]) before(other *Deadline[T]) bool {
	return d.at < other.at || d.at == other.at && d.turn < other.turn
}
