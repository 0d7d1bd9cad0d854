package loan

import (
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
)

// Receive implements lnd.Lender. It reads the source in the borrower's goroutine.
func (l *Lending) Receive(b lnd.Borrower) bool {
	if !l.borrow(b) {
		return false
	}
	for {
		ok, read := l.await(b)
		if !ok || !l.source.Take() {
			l.handBack()
			return false
		}
		if done, lent := l.rest(b, read); done {
			return lent
		}
	}
}

func (l *Lending) borrow(b lnd.Borrower) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != Lent || l.asks != b {
		return false
	}
	if l.Late() {
		l.regret()
		l.own()
		return false
	}
	l.state, l.used = Borrowed, true
	l.since.Store(int64(machine.Never))
	return true
}

// await waits in the source as long as b waits. read says that something has come.
func (l *Lending) await(b lnd.Borrower) (ok, read bool) {
	l.mu.Lock()
	l.waits = true
	l.mu.Unlock()
	ok = true
	if b.Waiting() {
		ok, read = l.source.Await(), true
	}
	l.mu.Lock()
	interrupted := l.interrupted
	l.waits, l.interrupted = false, false
	l.mu.Unlock()
	if interrupted {
		_ = l.source.SetReadDeadline(time.Time{}) // fails only when closed
	}
	return ok, read && !interrupted
}

// handBack leaves the rest, or the end, to the own goroutine. A loan that was used until
// then has kept nobody waiting, and the next one need not be rarer than it was.
func (l *Lending) handBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.served > 0 {
		l.refuse = l.rarity()
	} else {
		l.regret()
	}
	l.own()
}

// rest ends Receive if b need not wait any more; b keeps the right if it may be left lying.
func (l *Lending) rest(b lnd.Borrower, read bool) (done, lent bool) {
	var now time.Duration // a second reading of the clock is spared
	if read {
		now = l.source.ReadAt()
	} else {
		now = l.clock.Now()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.Waiting() {
		return false, true
	}
	if l.served++; l.served%worthwhile == 0 {
		l.useless = max(l.useless-1, 0)
	}
	l.leave(now)
	if l.state != Lent {
		return true, false
	}
	l.watch.resume(l.served < worthwhile)
	return true, true
}
