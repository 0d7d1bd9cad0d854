package portals

import (
	"sync"
	"time"

	"ulnet/lnet/machine"
)

// deadlines are the deadlines of calls. One timer serves them all. It is set to the earliest
// deadline, and is set again when an earlier one is added or when it has fired.
type deadlines struct {
	mu    sync.Mutex               // locked after md.mu
	calls machine.Deadlines[*call] // deadlines of calls; guarded by mu, like all fields below
	alarm machine.Alarm
	at    time.Duration // time that alarm is set to; Never: it is not set
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
	if at := l.calls.Next(); at < l.at {
		l.at = at
		l.alarm.Set(t.node.Clock().Now(), at)
	}
}

// expire ends the calls whose deadline has passed.
func (t *Table) expire() {
	l := &t.deadlines
	l.mu.Lock()
	l.at = machine.Never
	l.mu.Unlock()
	now := t.node.Clock().Now()
	for c, handle := l.due(now); c != nil; c, handle = l.due(now) {
		if c, d := t.lockCall(handle); c != nil {
			t.timeOut(d, c)
		}
	}
	t.watchDeadlines()
}
