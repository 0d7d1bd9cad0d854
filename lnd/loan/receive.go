package loan

import (
	"time"

	"ulnet/lnd"
)

// Receive implements lnd.Lender. It reads the source in the borrower's goroutine.
func (l *Lending) Receive(b lnd.Borrower) bool {
	if !l.borrow(b) {
		return false
	}
	for {
		if !l.await(b) || !l.source.Take() {
			l.handBack()
			return false
		}
		if l.rest(b) {
			return true
		}
	}
}

func (l *Lending) borrow(b lnd.Borrower) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != Lent || l.asks != b {
		return false
	}
	if l.tardy() {
		l.regret()
		l.own()
		return false
	}
	l.state, l.used = Borrowed, true
	return true
}

// await waits in the source as long as b waits.
func (l *Lending) await(b lnd.Borrower) (ok bool) {
	l.mu.Lock()
	l.waits = true
	l.mu.Unlock()
	ok = true
	if b.Waiting() {
		ok = l.source.Await()
	}
	l.mu.Lock()
	interrupted := l.interrupted
	l.waits, l.interrupted = false, false
	l.mu.Unlock()
	if interrupted {
		_ = l.source.SetReadDeadline(time.Time{}) // fails only when closed
	}
	return ok
}

// handBack leaves the rest, or the end, to the own goroutine.
func (l *Lending) handBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.regret()
	l.own()
}

// rest ends Receive if b need not wait any more; b keeps the right.
func (l *Lending) rest(b lnd.Borrower) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.Waiting() {
		return false
	}
	l.state, l.useless = Lent, 0
	l.leave()
	l.watch.resume()
	return true
}
