package portals

import (
	"sync"
	"time"

	"ulnet/lnet/machine"
)

// If the timer fires more than stoppedFor too late, this process was stopped meanwhile, for instance by SIGSTOP, or with
// the whole machine. Answers that came during that time lie in the sockets. So no call ends before the drivers have had
// the time catchUp to read them. A process that runs so seldom that the timer is always late gets that time mostHeld times.
// Local policy.
const (
	stoppedFor = time.Second
	catchUp    = 500 * time.Millisecond
	mostHeld   = 4
)

// deadlines are the deadlines of calls. One timer serves them all. It is set to the earliest
// deadline, and is set again when an earlier one is added or when it has fired.
type deadlines struct {
	mu        sync.Mutex               // locked after md.mu
	calls     machine.Deadlines[*call] // deadlines of calls; guarded by mu, like all fields below
	alarm     machine.Alarm
	at        time.Duration // time that alarm is set to; Never: it is not set
	heldUntil time.Duration // no call ends before this time, because this process was stopped
	held      int           // how often in a row the timer fired too late, up to mostHeld
}

// add makes a call time out at an instant.
func (l *deadlines) add(c *call, at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.timeout.Of = c
	l.calls.Set(&c.timeout, at)
}

// remove removes a call that was added, if its deadline has not passed.
func (l *deadlines) remove(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.timeout.Of = nil
	l.calls.Clear(&c.timeout)
}

// due removes the call with the earliest deadline, if that has passed, and returns it with
// its handle.
func (l *deadlines) due(now time.Duration) (c *call, handle uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := l.calls.Pop(now)
	if due == nil {
		return nil, 0
	}
	return due.Of, due.Of.handle.Load() // the handle is still valid: end removes the call from this queue before it clears the handle
}

// watchDeadlines sets the timer for the earliest deadline. Its caller holds no lock of an MD.
func (t *Table) watchDeadlines() {
	l := &t.deadlines
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := max(l.calls.Next(), l.heldUntil); at < l.at {
		l.at = at
		l.alarm.Set(t.node.Clock().Now(), at)
	}
}

// fired notes that the timer has fired, and reports whether the drivers need time to read because this process was
// stopped.
func (l *deadlines) fired(now time.Duration) (held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch late := now-l.at > stoppedFor; {
	case !late:
		l.held = 0
	case l.held < mostHeld:
		l.held++
		l.heldUntil = now + catchUp
	}
	l.at = machine.Never
	return now < l.heldUntil
}

// expire ends the calls whose deadline has passed, unless the drivers need time to read.
func (t *Table) expire() {
	defer t.watchDeadlines()
	l, now := &t.deadlines, t.node.Clock().Now()
	if l.fired(now) {
		return
	}
	for c, handle := l.due(now); c != nil; c, handle = l.due(now) {
		if c, d := t.lockCall(handle); c != nil {
			t.timeOut(d, c)
		}
	}
}
