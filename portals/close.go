package portals

import "sync"

// Close ends the waiting for events: EQ.Wait, EQ.Poll and PollEQs return ESHUTDOWN at
// once, when the events that are there have been read, and so do those that are
// called later. It is for a node that goes down, after lnet.Node.Shutdown, which has
// brought the last events. It may be called again, and then does nothing.
func (t *Table) Close() {
	for _, q := range t.queues.close() {
		q.close()
	}
}

// close has waiters return when nothing is left to be read.
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

// queues are the EQs of a table.
type queues struct {
	mu     sync.Mutex
	list   map[*EQ]struct{} // guarded by mu
	closed bool             // guarded by mu
}

// add adds a queue; false: the table is closed.
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

// close returns the queues that there were.
func (s *queues) close() (left []*EQ) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for q := range s.list { // any order: each has waiters of its own
		left = append(left, q)
	}
	s.list = nil
	return left
}
