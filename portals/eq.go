package portals

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
)

// ErrOverflow comes with an event if older events before it were overwritten because they
// were not read in time (EOVERFLOW).
var ErrOverflow = errors.New("event queue overflow: events were lost; read faster or make the queue larger")

// EQ is an event queue: a ring that keeps the latest events of the MDs that
// name it. Events of one EQ are numbered from 1 in the order of their arrival.
type EQ struct {
	table *Table
	clock machine.Clock
	// arrived has a token when there may be an event to read.
	arrived chan struct{}

	mu     sync.Mutex
	ring   []Event // the events; its length is a power of two; guarded by mu
	wrote  uint64  // sequence number of the last event; guarded by mu
	read   uint64  // sequence of the latest event read; guarded by mu
	users  int     // number of MDs that name the EQ; guarded by mu
	freed  bool    // Free was called; guarded by mu
	closed bool    // the table is closed; guarded by mu

	follower follower
	sleepers atomic.Int32 // goroutines in Wait that do not run a read loop
}

// NewEQ makes an event queue for at least size events (LNetEQAlloc); size is rounded up to a
// power of two. For what LNet calls a queue with a callback, use an MD with a Handler, with
// or without a queue. The table keeps the queue until [EQ.Free].
//
//	EINVAL     size is not positive
//	ESHUTDOWN  the table is closed
func (t *Table) NewEQ(size int) (*EQ, error) {
	if size <= 0 || size > 1<<24 {
		return nil, opError("NewEQ", syscall.EINVAL)
	}
	n := 1
	for n < size {
		n *= 2
	}
	q := &EQ{table: t, clock: t.node.Clock(), arrived: make(chan struct{}, 1), ring: make([]Event, n)}
	if !t.queues.add(q) {
		return nil, opError("NewEQ", syscall.ESHUTDOWN)
	}
	return q, nil
}

// Free ends the queue: blocked calls return ENOENT, and unread events are lost.
// EBUSY: an MD still names it. ENOENT: it was freed before.
func (q *EQ) Free() error {
	reading, err := q.free()
	if err != nil {
		return opError("EQ.Free", err)
	}
	if reading != nil {
		reading.Interrupt(q)
	}
	q.returnLoop()
	q.notify()
	q.table.queues.remove(q)
	return nil
}

func (q *EQ) free() (reading lnd.ReadLoop, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.freed:
		return nil, syscall.ENOENT
	case q.users > 0:
		return nil, syscall.EBUSY
	}
	q.freed = true
	return q.follower.wake(), nil
}

// join counts an MD that names the queue; it returns false if the queue was freed.
func (q *EQ) join() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.freed {
		return false
	}
	q.users++
	return true
}

func (q *EQ) leave() {
	q.mu.Lock()
	q.users--
	q.mu.Unlock()
}

// push adds an event; the oldest is overwritten when the ring is full. The last event
// of an MD ends the MD's use of the queue, so that its reader may free the queue.
func (q *EQ) push(e *Event, from lnd.ReadLoop) {
	q.mu.Lock()
	if e.Unlinked {
		q.users--
	}
	q.wrote++
	slot := &q.ring[q.wrote&uint64(len(q.ring)-1)]
	*slot = *e
	slot.Sequence = q.wrote
	if from != nil {
		q.follower.cameBy(from)
	}
	reading := q.follower.wake()
	q.mu.Unlock()
	if reading != nil {
		reading.Interrupt(q)
	}
	q.notify()
}

func (q *EQ) notify() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

// take reads the next event. After an overflow it reads the oldest event left. LNet's
// lnet_eq_dequeue_event skips more: it takes the latest event that was written to the reader's
// slot. ok is false if there is no event.
func (q *EQ) take(e *Event) (ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.freed {
		q.notify() // the next waiting call must see the error too
		return false, opError("EQ", syscall.ENOENT)
	}
	if q.read == q.wrote {
		if q.closed {
			q.notify() // the next waiting call must see this error too
			err = opError("EQ", syscall.ESHUTDOWN)
		}
		return false, err
	}
	q.read++
	if oldest := q.wrote - uint64(len(q.ring)) + 1; q.wrote >= uint64(len(q.ring)) && q.read < oldest {
		q.read, err = oldest, ErrOverflow
	}
	slot := &q.ring[q.read&uint64(len(q.ring)-1)]
	*e = *slot
	*slot = Event{} // so that the ring does not keep the user's memory alive
	if q.read != q.wrote {
		q.notify()
	}
	return true, err
}

// Get reads the next event without waiting; ok is false when there is none.
func (q *EQ) Get() (e Event, ok bool, err error) {
	ok, err = q.take(&e)
	return e, ok, err
}

// Wait reads the next event. If there is none, it waits for one until ctx ends. ErrOverflow
// comes with a valid event. While Wait waits, it may receive messages in the caller's goroutine
// and run the handlers of any MD, so the caller must hold no lock that a handler takes.
func (q *EQ) Wait(ctx context.Context) (e Event, err error) {
	for {
		ok, err := q.take(&e)
		if ok || err != nil {
			return e, err
		}
		if q.receive(ctx) && ctx.Err() == nil {
			continue
		}
		if err := q.sleep(ctx); err != nil {
			return e, err
		}
	}
}

// sleep waits until q.arrived has a token or ctx ends. A token means that there may be an event to
// read, or that no goroutine runs the queue's read loop, so that the caller may run it.
func (q *EQ) sleep(ctx context.Context) error {
	q.sleepers.Add(1)
	defer q.sleepers.Add(-1)
	select {
	case <-q.arrived:
		return nil
	case <-ctx.Done():
		q.returnLoop()
		return context.Cause(ctx)
	}
}

// Poll is Wait for at most timeout, by the node's clock; ok is false if no event came in that
// time. A negative timeout waits for ever.
func (q *EQ) Poll(timeout time.Duration) (e Event, ok bool, err error) {
	switch {
	case timeout == 0:
		return q.Get()
	case timeout < 0:
		e, err = q.Wait(context.Background())
		return e, err == nil || errors.Is(err, ErrOverflow), err
	}
	q.returnLoop()
	late := make(chan struct{})
	defer q.clock.AfterFunc(timeout, func() { close(late) }).Stop()
	for {
		ok, err := q.take(&e)
		if ok || err != nil {
			return e, ok, err
		}
		select {
		case <-q.arrived:
		case <-late:
			return e, false, nil
		}
	}
}
