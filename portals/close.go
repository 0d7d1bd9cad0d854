package portals

import (
	"maps"
	"slices"
	"sync"
)

// Close ends the waiting for events: EQ.Wait, EQ.Poll and PollEQs return ESHUTDOWN, now and in
// later calls, once the events already in the queue have been read. A node that shuts down
// calls Close after lnet.Node.Shutdown, which causes the last events. Further calls do nothing.
func (t *Table) Close() {
	for _, q := range t.queues.close() {
		q.close()
	}
}

// close makes waiting calls return when no event is left to be read.
func (q *EQ) close() {
	q.mu.Lock()
	q.closed = true
	reading := q.follower.wake()
	q.mu.Unlock()
	if reading != nil {
		reading.Interrupt(q)
	}
	q.returnLoop()
	q.notify()
}

// queues has the event queues of a table.
type queues struct {
	mu     sync.Mutex
	list   map[*EQ]struct{} // the event queues; guarded by mu
	closed bool             // the table is closed; guarded by mu
}

// add adds a queue; it returns false if the table is closed.
func (s *queues) add(q *EQ) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.list == nil {
		s.list = make(map[*EQ]struct{})
	}
	s.list[q] = struct{}{}
	return true
}

func (s *queues) remove(q *EQ) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.list, q)
}

// isClosed reports whether the table is closed.
func (s *queues) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// close marks the list as closed, so that add refuses further queues. It empties the list, and returns the
// queues that were in it.
func (s *queues) close() (left []*EQ) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	left = slices.Collect(maps.Keys(s.list)) // any order: each queue has waiters of its own
	s.list = nil
	return left
}
