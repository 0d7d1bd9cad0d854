package loan

import (
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
)

// Source is what is read. Who has the right to read calls its methods, but for
// SetReadDeadline.
type Source interface {
	// Lendable reports whether the right may be lent now, or left lying. It is called
	// with the lock of the Lending held.
	Lendable() bool
	// Await waits until something has come, and returns without if the read deadline
	// passes. False leaves the right, and what has happened, to the own goroutine.
	Await() bool
	// Take makes the upcalls of what has come and does not wait. False leaves the right,
	// and what there is still to do, to the own goroutine.
	Take() bool
	// ReadAt is when it last read something, on the clock of Init. It is called after
	// an Await that was not interrupted.
	ReadAt() time.Duration
	// SetReadDeadline ends Await, and is only called with a time in the past, or zero.
	SetReadDeadline(t time.Time) error
}

// Lending is the right to read a source (lnd.Lender). Init begins its use.
type Lending struct {
	source   Source
	watch    *Watch
	clock    machine.Clock
	patience time.Duration // fixed before use

	back  chan struct{} // the right, on its way to the own goroutine
	asked atomic.Bool   // asks is set, and the state Own
	since atomic.Int64  // when the right was left lying; machine.Never: it does not lie. Set with mu held

	mu          sync.Mutex
	state       State        // and all below: guarded by mu
	asks        lnd.Borrower // who asked, or has the right; nil: nobody
	waits       bool         // Receive waits in the source
	interrupted bool         // by a read deadline in the past
	used        bool         // or lent, since the last look
	served      int          // uses of this loan
	useless     int          // loans that were of no use, less those that were
	refuse      int          // askers that come back in time, before the next loan
	last        lnd.Borrower // asked last and was served, without a loan
	servedAt    time.Duration
}

// State says where the right to read is.
type State uint8

// The states.
const (
	Own State = iota
	Lent
	Borrowed
)

var _ lnd.Lender = (*Lending)(nil)

// Patience is for how long a borrower may stay away between two calls of Receive; local
// policy. A borrower that only takes note of a message needs some microseconds; one
// that works on it keeps all waiting whose messages come by the same source.
const Patience = 200 * time.Microsecond

// Init makes l the right to read s, which its own goroutine has. ReadAt and Patience
// are by the clock.
func (l *Lending) Init(s Source, w *Watch, clock machine.Clock) {
	l.source, l.watch, l.clock, l.patience = s, w, clock, Patience
	l.back = make(chan struct{}, 1)
	l.refuse = probation
	l.since.Store(int64(machine.Never))
}

// Asked reports whether there is a reason to call Lend.
func (l *Lending) Asked() bool { return l.asked.Load() }

// Ask implements lnd.Lender.
func (l *Lending) Ask(b lnd.Borrower) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != Own {
		return
	}
	if b == l.last && l.clock.Now()-l.servedAt > l.patience {
		l.refuse = max(l.refuse, l.rarity()) // it would have kept the right lying there
	}
	l.asks = b
	l.asked.Store(true)
}

// Lend lends the right if somebody has asked and been served, and waits until
// it is back, or the source has ended. The own goroutine calls it between two
// messages.
func (l *Lending) Lend(ended <-chan struct{}) {
	l.mu.Lock()
	if !l.granted() {
		l.mu.Unlock()
		return
	}
	l.asked.Store(false)
	l.used, l.served = true, 0
	l.leave(l.clock.Now())
	l.mu.Unlock()
	select {
	case <-l.back:
	case <-ended:
		l.reclaim()
	}
}

// granted decides about the asker. The caller holds l.mu.
func (l *Lending) granted() bool {
	if l.asks == nil || l.asks.Waiting() {
		return false
	}
	l.last, l.servedAt = l.asks, l.clock.Now()
	if !l.source.Lendable() {
		l.forget()
		return false
	}
	if l.refuse > 0 || !l.watch.add(l) {
		l.refuse = max(l.refuse-1, 0)
		l.forget()
		return false
	}
	return true
}

// forget forgets the asker. The caller holds l.mu.
func (l *Lending) forget() {
	l.asks = nil
	l.asked.Store(false)
}

// reclaim takes the right back when the source has ended.
func (l *Lending) reclaim() {
	l.mu.Lock()
	if l.state == Lent {
		l.own()
	}
	l.mu.Unlock()
	<-l.back // a borrower brings it: his read fails
}

// own ends a loan. The caller holds l.mu.
func (l *Lending) own() {
	l.watch.remove(l)
	l.state = Own
	l.since.Store(int64(machine.Never))
	l.forget()
	l.back <- struct{}{}
}

// Only a borrower that waits again and again, and soon, gets a loan, since a right that
// lies unused keeps all messages waiting: so many askers are refused first, all of which
// came back within Patience after the one before was served. A loan that is lost
// begins that anew, twice as long each time, but no longer than after maxUseless.
// What makes up for one is worthwhile uses of a loan: while it lay unused others
// have waited for longer than some messages take.
const (
	probation  = 16
	maxUseless = 7
	worthwhile = 64
)

// look takes back a right that has not been used since the last look. It
// returns false if there is no need to look again before the next Receive has
// ended: a borrower who waits keeps nobody waiting.
func (l *Lending) look() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.state != Lent:
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
func (l *Lending) regret() {
	l.useless = min(l.useless+1, maxUseless)
	l.refuse = l.rarity()
}

// rarity is how many askers are refused before a loan.
func (l *Lending) rarity() int { return probation << max(l.useless-1, 0) }

// young reports whether the borrower has not shown yet that it comes back soon: then
// the Watch looks often.
func (l *Lending) young() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.served < worthwhile
}

// leave has the right lie there. Who recalls it has first brought about what Lendable
// says, and finds it lying if that was too late for this. The caller holds l.mu.
func (l *Lending) leave(now time.Duration) {
	l.state = Lent
	l.since.Store(int64(now))
	if !l.source.Lendable() {
		l.own()
	}
}

// Lies reports whether nobody reads.
func (l *Lending) Lies() bool { return time.Duration(l.since.Load()) != machine.Never }

// Late reports whether the right lies there for longer than its borrower may stay away.
func (l *Lending) Late() bool {
	since := time.Duration(l.since.Load())
	return since != machine.Never && l.clock.Now()-since > l.patience
}

// Recall takes back a right that lies there, for somebody to whom something shall be
// read soon. That speaks against the borrower only if he is late.
func (l *Lending) Recall() {
	if !l.Lies() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != Lent {
		return
	}
	if l.Late() {
		l.regret()
	}
	l.own()
}

// Return implements lnd.Lender.
func (l *Lending) Return(b lnd.Borrower) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.asks != b:
	case l.state == Lent:
		l.own()
	case l.state == Own:
		l.forget()
	}
}

// Interrupt implements lnd.Lender.
func (l *Lending) Interrupt(b lnd.Borrower) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits && l.asks == b && !l.interrupted {
		l.interrupted = true
		_ = l.source.SetReadDeadline(time.Unix(1, 0)) // fails only when closed
	}
}
