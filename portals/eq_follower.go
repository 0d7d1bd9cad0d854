package portals

import (
	"context"

	"ulnet/lnd"
)

// follower lets a goroutine that is blocked in Wait take over the read loop of a connection
// (lnd.Follower). It requests the read loop of the connection that brings the events, and can
// run it from the next event on. It moves to another connection once that has brought two events
// in a row. EQ.mu guards all fields.
type follower struct {
	latest    lnd.ReadLoop // read loop of the connection that brings the events
	other     lnd.ReadLoop // read loop of another connection that brought the last event; nil: none
	requested lnd.ReadLoop // read loop that was requested, and perhaps handed over
	inside    bool         // a goroutine is running requested.Receive
	waits     bool         // Waiting has told Receive to block, so an event has to interrupt it

	ctx       context.Context // context of the goroutine in requested.Receive
	watched   <-chan struct{} // Done of the context whose end interrupts Receive; nil: none
	unwatch   func() bool
	cancelled bool // the context ctx has ended
}

// Waiting implements lnd.Follower.
func (q *EQ) Waiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := &q.follower
	if b.inside {
		q.watch(b.ctx)
	}
	if q.read != q.wrote || q.freed || q.closed || b.cancelled {
		b.waits = false
		return false
	}
	b.waits = b.inside
	return true
}

// cameBy notes the read loop of the connection that brought an event. The caller holds EQ.mu.
func (b *follower) cameBy(l lnd.ReadLoop) {
	switch {
	case l == b.latest:
		b.other = nil
	case b.latest == nil, l == b.other:
		b.latest, b.other = l, nil
	default:
		b.other = l
	}
}

// wake returns the read loop whose Receive has to be interrupted because Wait has something to
// do, or nil. The caller holds EQ.mu.
func (b *follower) wake() lnd.ReadLoop {
	if !b.waits {
		return nil
	}
	b.waits = false
	return b.requested
}

// receive runs the read loop of the connection that brings the events, until there may be an event or ctx has
// ended, and returns true. It returns false if another goroutine is in receive already, or if no connection
// has brought an event yet. It also returns false if the connection has not handed over its read loop, or has
// taken it back; in this case it requests the loop.
func (q *EQ) receive(ctx context.Context) bool {
	q.mu.Lock()
	b := &q.follower
	if b.inside || b.latest == nil {
		q.mu.Unlock()
		return false
	}
	before, l := b.requested, b.latest
	b.requested, b.inside, b.ctx = l, true, ctx
	q.mu.Unlock()
	if before != nil && before != l {
		before.Return(q)
	}
	kept := l.Receive(q)
	q.mu.Lock()
	b.inside, b.waits, b.ctx = false, false, nil
	over := q.freed || q.closed
	q.mu.Unlock()
	switch {
	case over:
		q.returnLoop()
	case !kept:
		l.Request(q)
	case q.sleepers.Load() > 0:
		q.notify() // one of the sleeping goroutines runs the read loop while this one handles its event
	}
	return kept
}

// returnLoop returns the read loop to the connection until the next Wait.
func (q *EQ) returnLoop() {
	q.mu.Lock()
	b := &q.follower
	l := b.requested
	if b.inside {
		l = nil // another goroutine is in receive and keeps the read loop
	} else {
		b.requested = nil
		q.watch(context.Background())
	}
	if q.freed || q.closed {
		b.latest, b.other = nil, nil // so that the queue keeps no memory of a connection
	}
	q.mu.Unlock()
	if l != nil {
		l.Return(q)
	}
}

// watch makes the end of ctx interrupt Receive. It is cheap if ctx has the same Done channel
// as in the call before. The caller holds q.mu.
func (q *EQ) watch(ctx context.Context) {
	b := &q.follower
	done := ctx.Done()
	if done == b.watched {
		return
	}
	if b.unwatch != nil {
		b.unwatch()
	}
	b.watched, b.unwatch, b.cancelled = done, nil, false
	if done != nil {
		b.unwatch = context.AfterFunc(ctx, func() { q.cancel(done) })
	}
}

// cancel interrupts Receive because the watched context has ended.
func (q *EQ) cancel(done <-chan struct{}) {
	q.mu.Lock()
	b := &q.follower
	var l lnd.ReadLoop
	if b.watched == done {
		b.cancelled = true
		l = b.wake()
	}
	q.mu.Unlock()
	if l != nil {
		l.Interrupt(q)
	}
}
