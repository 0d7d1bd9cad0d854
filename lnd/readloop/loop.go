package readloop

import (
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
)

// Source is what the loop reads. The goroutine that runs the loop calls its methods;
// SetReadDeadline may come from any goroutine.
type Source interface {
	// MayHandOver reports whether the loop may be handed over now, or stay idle. It is
	// called with the lock of the Loop held.
	MayHandOver() bool
	// Await blocks until something has arrived or the read deadline passes. It returns false to leave the
	// loop, and the event that it has noticed, to the connection's own goroutine.
	Await() bool
	// Take makes the upcalls for what has arrived. It may block for the rest of a message between BeginWait
	// and EndWait of the Loop. It returns false to leave the loop, and the work that is left, to the
	// connection's own goroutine.
	Take() bool
	// Unread reports whether something may have arrived that no goroutine has read. It is
	// called with the lock of the Loop held, while the loop is idle.
	Unread() bool
	// ReadAt is when the source last read something, on the clock of Init. It is called
	// after an Await that was not interrupted.
	ReadAt() time.Duration
	// SetReadDeadline interrupts Await. The time is in the past, or zero for no deadline.
	SetReadDeadline(t time.Time) error
}

// Loop is the read loop of a source (lnd.ReadLoop). Init makes it ready for use.
type Loop struct {
	source     Source
	watchdog   *Watchdog
	clock      machine.Clock
	maxAbsence time.Duration // longest time that a follower may be absent; fixed before use

	back      chan struct{} // wakes the connection's own goroutine when it has to run the loop again; made when the loop is first idle
	requested atomic.Bool   // whether follower is set and the state is Own
	idleSince atomic.Int64  // machine.Never unless the state is Idle; set with mu held

	mu          sync.Mutex
	state       State        // guarded by mu, like all fields below
	follower    lnd.Follower // the follower that requested the loop, or ran it last; nil: none
	blocked     bool         // the follower waits for bytes
	interrupted bool         // a read deadline in the past ended the follower's read
	unread      bool         // the watchdog's last check of the idle loop found something unread
	uses        int          // calls of Receive that have ended since the hand-over, or since a follower last came back late
	delays      int          // hand-overs that have delayed a message; every provenUses calls counted in uses subtract one
	refuse      int          // requests to refuse before the next hand-over
	handOvers   int          // hand-overs so far
	refused     int          // requests that were refused so far
	takenBack   int          // hand-overs so far that the watchdog has ended
}

var _ lnd.ReadLoop = (*Loop)(nil)

// MaxAbsence is the default bound of a [Watchdog]: how long a loop may be idle, with no goroutine
// that reads, while its source has unread bytes. Then the watchdog takes the loop back. Local policy:
// a follower that only notes a message is absent for some microseconds; a follower that works on it
// delays every receiver whose messages come through the same source.
const MaxAbsence = 200 * time.Microsecond

// Init makes l the read loop of s, which the connection's own goroutine runs at first. The times of
// ReadAt and MaxAbsence are those of the given clock.
func (l *Loop) Init(s Source, w *Watchdog, clock machine.Clock) {
	l.source, l.watchdog, l.clock, l.maxAbsence = s, w, clock, w.maxAbsence()
	l.idleSince.Store(int64(machine.Never))
}

// Requested reports whether a follower has requested the loop, so that HandOver may hand it over.
func (l *Loop) Requested() bool { return l.requested.Load() }

// Request implements lnd.ReadLoop.
func (l *Loop) Request(f lnd.Follower) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != Own {
		return
	}
	l.follower = f
	l.requested.Store(true)
}

// HandOver hands the loop over if a follower has requested it and its wait has ended. It blocks until the
// loop is back or the source has ended. The connection's own goroutine calls it between two messages.
func (l *Loop) HandOver(ended <-chan struct{}) {
	l.mu.Lock()
	if !l.grant() {
		l.mu.Unlock()
		return
	}
	l.requested.Store(false)
	l.uses = 0
	l.handOvers++
	l.setIdle(l.clock.Now())
	l.mu.Unlock()
	select {
	case <-l.back:
	case <-ended:
		l.reclaim()
	}
}

// grant reports whether the loop goes to the follower that has requested it. The caller holds
// l.mu.
func (l *Loop) grant() bool {
	if l.follower == nil || l.follower.Waiting() {
		return false
	}
	if !l.source.MayHandOver() {
		l.clearRequest()
		return false
	}
	if l.refuse > 0 || !l.watchdog.add(l) {
		l.refuse = max(l.refuse-1, 0)
		l.refused++
		l.clearRequest()
		return false
	}
	return true
}

// clearRequest forgets the follower. The caller holds l.mu.
func (l *Loop) clearRequest() {
	l.follower = nil
	l.requested.Store(false)
}

// reclaim takes the loop back when the source has ended.
func (l *Loop) reclaim() {
	l.mu.Lock()
	if l.state == Idle {
		l.setOwn()
	}
	l.mu.Unlock()
	<-l.back // wait until the follower, whose read fails, returns the loop
}

// setOwn gives the loop back to the connection's own goroutine. The caller holds l.mu.
func (l *Loop) setOwn() {
	l.watchdog.remove(l)
	l.state = Own
	l.idleSince.Store(int64(machine.Never))
	l.clearRequest()
	l.back <- struct{}{}
}

// After a hand-over that has delayed a message, minRefusals requests are refused, and twice as many
// after each further one, up to maxDelays times. provenUses calls of Receive make up for one such
// hand-over, whose delay has cost as much time as several messages take.
const (
	minRefusals = 2
	maxDelays   = 10
	provenUses  = 64

	maxIdle = 20 // the watchdog takes back a loop that was idle for maxIdle*maxAbsence even if nothing has come
)

// check takes the loop back if something has lain unread since the last check, or if the
// follower stays away for long. It returns false if no check is needed before the next Receive
// has ended: a follower that is blocked in Receive delays no message.
func (l *Loop) check() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != Idle {
		return false
	}
	unread, idle := l.source.Unread(), l.clock.Now()-time.Duration(l.idleSince.Load())
	switch {
	case unread && l.unread && idle >= l.maxAbsence-l.watchdog.maxAbsence(): // the right side is 0 unless SetMaxAbsence has changed l.maxAbsence
		l.countDelay()
	case unread, idle <= maxIdle*l.maxAbsence:
		l.unread = unread
		return true
	}
	l.takenBack++
	l.setOwn()
	return false
}

// countDelay notes that a hand-over has delayed a message, which makes the next hand-overs rarer. The
// caller holds l.mu.
func (l *Loop) countDelay() {
	l.delays = min(l.delays+1, maxDelays)
	l.refuse = minRefusals << (l.delays - 1)
}

// unproven reports whether the follower has not shown yet that it comes back soon. Then
// the watchdog checks often.
func (l *Loop) unproven() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.uses < provenUses
}

// setIdle leaves the loop to the next Receive. A goroutine that calls Recall has first
// changed what MayHandOver says: either setIdle sees the change, or Recall sees the idle
// loop. The caller holds l.mu.
func (l *Loop) setIdle(now time.Duration) {
	if l.back == nil {
		l.back = make(chan struct{}, 1)
	}
	l.state, l.unread = Idle, false
	l.idleSince.Store(int64(now))
	if !l.source.MayHandOver() {
		l.setOwn()
	}
}

// Idle reports whether no goroutine reads.
func (l *Loop) Idle() bool { return time.Duration(l.idleSince.Load()) != machine.Never }

// Late reports whether the loop has been idle for longer than its follower may stay away.
func (l *Loop) Late() bool {
	since := time.Duration(l.idleSince.Load())
	return since != machine.Never && l.clock.Now()-since > l.maxAbsence
}

// Recall takes an idle loop back from its follower, for a caller that needs something read soon. If
// the follower has been away for longer than it may (see Late), the hand-over counts as one that has
// delayed a message, so that the next hand-overs are rarer.
func (l *Loop) Recall() {
	if !l.Idle() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != Idle {
		return
	}
	if l.Late() {
		l.countDelay()
	}
	l.setOwn()
}

// Return implements lnd.ReadLoop.
func (l *Loop) Return(f lnd.Follower) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.follower != f:
	case l.state == Idle:
		l.setOwn()
	case l.state == Own:
		l.clearRequest()
	}
}

// Interrupt implements lnd.ReadLoop.
func (l *Loop) Interrupt(f lnd.Follower) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.blocked && l.follower == f && !l.interrupted {
		l.interrupted = true
		_ = l.source.SetReadDeadline(time.Unix(1, 0)) // fails only when the source is closed
	}
}
