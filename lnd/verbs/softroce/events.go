package softroce

import (
	"bytes"
	"sync"

	"ulnet/lnd/verbs"
)

// eventQueue makes the upcalls of a connection's events: one at a time and in order, without
// locks. A connection has at most two events. No upcall is made before speak is called: a refused
// connection has no events.
type eventQueue struct {
	upcall func(verbs.Conn, verbs.Event)
	done   func() // called after the last event

	mu      sync.Mutex // guards all fields below
	running bool
	silent  bool // whether no further upcall is made
	ended   bool // the last event is in the list, or was
	told    bool // whether done was called
	list    []verbs.Event
}

// push adds e to the queue, with a copy of its private data. The parameter last is true for the last
// event of the queue.
func (q *eventQueue) push(e verbs.Event, last bool) {
	e.Private = bytes.Clone(e.Private)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = last
	if !q.silent {
		q.list = append(q.list, e)
	}
}

// run makes the upcalls for the queued events. If another goroutine is doing that already, it
// also makes those for events that were queued since, and run returns at once.
func (q *eventQueue) run(c verbs.Conn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running {
		return
	}
	q.running = true
	for len(q.list) > 0 && !q.silent {
		e := q.list[0]
		q.list = q.list[1:]
		q.mu.Unlock()
		q.upcall(c, e)
		q.mu.Lock()
	}
	q.list, q.running = nil, false
	if q.ended && !q.told {
		q.told = true
		q.mu.Unlock()
		q.done()
		q.mu.Lock()
	}
}

// speak allows upcalls, which wait until then.
func (q *eventQueue) speak() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.silent = false
}

// silence drops the queued events and allows no more upcalls. One may still be running.
func (q *eventQueue) silence() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.silent, q.list = true, nil
}
