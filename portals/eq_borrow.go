package portals

import (
	"context"

	"ulnet/lnd"
)

// borrowing is how a goroutine that waits in an EQ comes to read the
// connection itself (lnd.Lender): it asks the connection that brought the
// latest event, and from the next event on it may. All guarded by EQ.mu.
type borrowing struct {
	latest lnd.Lender // brought the latest event
	asked  lnd.Lender // has been asked, and may have lent its right
	inside bool       // a goroutine is in asked.Receive
	waits  bool       // where it has been told to wait

	ctx       context.Context // of that goroutine
	followed  <-chan struct{} // Done of the context whose end interrupts Receive; nil: none
	unfollow  func() bool
	cancelled bool // it has ended
}

// Waiting implements lnd.Borrower.
func (q *EQ) Waiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := &q.borrowing
	if b.inside {
		q.follow(b.ctx)
	}
	if q.read != q.wrote || q.freed || q.closed || b.cancelled {
		b.waits = false
		return false
	}
	b.waits = b.inside
	return true
}

// wake returns the lender whose Receive has to be interrupted, if any. The
// caller holds EQ.mu.
func (b *borrowing) wake() lnd.Lender {
	if !b.waits {
		return nil
	}
	b.waits = false
	return b.asked
}

// receive reads from the connection that was borrowed until there may be an
// event or ctx has ended. It returns false, and asks for the next time, if
// nothing is borrowed.
func (q *EQ) receive(ctx context.Context) bool {
	q.mu.Lock()
	b := &q.borrowing
	if b.inside || b.latest == nil {
		q.mu.Unlock()
		return false
	}
	before, l := b.asked, b.latest
	b.asked, b.inside, b.ctx = l, true, ctx
	q.mu.Unlock()
	if before != nil && before != l {
		before.Return(q)
	}
	lent := l.Receive(q)
	q.mu.Lock()
	b.inside, b.waits, b.ctx = false, false, nil
	over := q.freed || q.closed
	q.mu.Unlock()
	switch {
	case over:
		q.giveBack()
	case !lent:
		l.Ask(q)
	}
	return lent
}

// giveBack ends borrowing until the next Wait.
func (q *EQ) giveBack() {
	q.mu.Lock()
	b := &q.borrowing
	l := b.asked
	if b.inside {
		l = nil // another goroutine's
	} else {
		b.asked = nil
		q.follow(context.Background())
	}
	if q.freed || q.closed {
		b.latest = nil // the queue shall not keep a connection's memory
	}
	q.mu.Unlock()
	if l != nil {
		l.Return(q)
	}
}

// follow has the end of ctx interrupt Receive. A loop that waits with the same
// context pays for it once. The caller holds q.mu.
func (q *EQ) follow(ctx context.Context) {
	b := &q.borrowing
	done := ctx.Done()
	if done == b.followed {
		return
	}
	if b.unfollow != nil {
		b.unfollow()
	}
	b.followed, b.unfollow, b.cancelled = done, nil, false
	if done != nil {
		b.unfollow = context.AfterFunc(ctx, func() { q.cancel(done) })
	}
}

// cancel interrupts Receive because the context it follows has ended.
func (q *EQ) cancel(done <-chan struct{}) {
	q.mu.Lock()
	b := &q.borrowing
	var l lnd.Lender
	if b.followed == done {
		b.cancelled = true
		l = b.wake()
	}
	q.mu.Unlock()
	if l != nil {
		l.Interrupt(q)
	}
}
