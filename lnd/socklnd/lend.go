package socklnd

import (
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd"
)

// lending is a connection's right to read. The connection's own goroutine
// lends it between two messages and stands by until it is back:
//
//	state     who reads      next state
//	own       own goroutine  lent, after a message for which the asker waited
//	lent      nobody         borrowed by Receive; own by Return or the loan watch
//	borrowed  the borrower   lent when it need not wait; own if a message has not
//	                         come whole, must be held, or ended the connection
type lending struct {
	c     *conn
	back  chan struct{} // the right, on its way to the own goroutine
	asked atomic.Bool   // asks is set, and the state own

	mu          sync.Mutex
	state       lendState    // and all below: guarded by mu
	asks        lnd.Borrower // who asked, or has the right; nil: nobody
	waits       bool         // Receive waits for bytes
	interrupted bool         // by a read deadline in the past
	used        bool         // or lent, since the last look
	useless     int          // loans in a row that nobody used, or that ended at once
	refuse      int          // askers, before the next loan

	err *Error // that a borrower met; belongs to who has the right
}

type lendState uint8

const (
	readOwn lendState = iota
	readLent
	readBorrowed
)

var _ lnd.Lender = (*lending)(nil)

func (l *lending) init(c *conn) {
	l.c = c
	l.back = make(chan struct{}, 1)
	l.refuse = probation
}

// Ask implements lnd.Lender.
func (l *lending) Ask(b lnd.Borrower) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == readOwn {
		l.asks = b
		l.asked.Store(true)
	}
}

// lend lends the right if somebody has asked and been served, and waits until
// it is back. The own goroutine calls it between two messages.
func (l *lending) lend() {
	l.mu.Lock()
	if !l.granted() {
		l.mu.Unlock()
		return
	}
	l.asked.Store(false)
	l.state, l.used = readLent, true
	l.mu.Unlock()
	select {
	case <-l.back:
	case <-l.c.dead:
		l.reclaim()
	}
}

// granted decides about the asker. The caller holds l.mu.
func (l *lending) granted() bool {
	if l.asks == nil || l.asks.Waiting() {
		return false
	}
	if l.c.rx.window != smallWindow { // a borrower leaves large messages to us
		l.forget()
		return false
	}
	if l.refuse > 0 || !l.watch().add(l) {
		l.refuse = max(l.refuse-1, 0)
		l.forget()
		return false
	}
	return true
}

// forget forgets the asker. The caller holds l.mu.
func (l *lending) forget() {
	l.asks = nil
	l.asked.Store(false)
}

// reclaim takes the right back when the connection has ended.
func (l *lending) reclaim() {
	l.mu.Lock()
	if l.state == readLent {
		l.own()
	}
	l.mu.Unlock()
	<-l.back // a borrower brings it: his read fails
}

// own ends a loan. The caller holds l.mu.
func (l *lending) own() {
	l.watch().remove(l)
	l.state = readOwn
	l.forget()
	l.back <- struct{}{}
}

// Only who waits again and again shall borrow, since a right that lies unused
// keeps everybody waiting: so many askers are refused first. A loan of no use
// begins that anew, twice as long each time, but no longer than after maxUseless
// in a row.
const (
	probation  = 16
	maxUseless = 7
)

// look takes back a right that has not been used since the last look. It
// returns false if there is no need to look again before the next Receive has
// ended: a borrower who waits keeps nobody waiting.
func (l *lending) look() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.state != readLent:
		return false
	case l.used:
		l.used = false
		return true
	}
	l.regret()
	l.own()
	return false
}

// regret makes loans rarer after one that was of no use. The caller holds l.mu.
func (l *lending) regret() {
	l.useless = min(l.useless+1, maxUseless)
	l.refuse = probation << (l.useless - 1)
}

// Return implements lnd.Lender.
func (l *lending) Return(b lnd.Borrower) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.asks != b:
	case l.state == readLent:
		l.own()
	case l.state == readOwn:
		l.forget()
	}
}

// Interrupt implements lnd.Lender.
func (l *lending) Interrupt(b lnd.Borrower) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits && l.asks == b && !l.interrupted {
		l.interrupted = true
		_ = l.c.net.SetReadDeadline(time.Unix(1, 0)) // fails only when closed
	}
}

// watch is the loan watch of the driver.
func (l *lending) watch() *loanWatch { return l.c.peer.ni.loans }
