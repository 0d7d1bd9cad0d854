// Package timerfd is a real clock whose timers share one timer of the system.
//
// The Go runtime keeps timers in its network poller: while one is pending, each wait for the
// network has a timeout, which the kernel has to set and to cancel. With small messages and timers
// that expire soon, that takes a fifth of the time of a message. A timerfd(2) is set once, and is
// then only one more descriptor that the poller waits for.
package timerfd

import (
	"sync"
	"time"

	"ulnet/lnet/machine"
)

// Clock is a machine.Clock that follows the monotonic clock and starts at zero. It does not
// work in a bubble of testing/synctest. Methods are safe for concurrent use.
type Clock struct {
	machine.Clock

	mu     sync.Mutex
	alarm  *alarm // guarded by mu, like all below; nil: closed, or the system has none
	timers machine.Deadlines[*timer]
	due    time.Duration // when alarm expires; machine.Never: alarm is not set
	over   chan struct{} // closed when the goroutine has ended
}

// NewClock returns a clock, which has one goroutine until Close. On systems without timerfd the
// clock works like machine.RealClock.
func NewClock() *Clock {
	c := &Clock{Clock: machine.RealClock(), alarm: newAlarm(), due: machine.Never, over: make(chan struct{})}
	if c.alarm == nil {
		close(c.over)
		return c
	}
	go c.run(c.alarm)
	return c
}

// AfterFunc implements machine.Clock: f runs in a goroutine of its own.
func (c *Clock) AfterFunc(d time.Duration, f func()) machine.Timer {
	t := &timer{c: c, f: f}
	t.due.Of = t
	c.mu.Lock()
	defer c.mu.Unlock()
	t.start(d)
	return t
}

// Close passes pending timers to the Go runtime, as well as timers that are started later.
func (c *Clock) Close() {
	c.mu.Lock()
	if c.alarm != nil {
		c.alarm.close()
		c.alarm = nil
	}
	for due := c.timers.Pop(machine.Never); due != nil; due = c.timers.Pop(machine.Never) {
		due.Of.start(due.At() - c.Now())
	}
	c.mu.Unlock()
	<-c.over
}

func (c *Clock) run(a *alarm) {
	defer close(c.over)
	for a.wait() {
		c.expire()
	}
}

// expire starts the functions of timers that are due.
func (c *Clock) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = machine.Never
	now := c.Now()
	for due := c.timers.Pop(now); due != nil; due = c.timers.Pop(now) {
		go due.Of.f()
	}
	c.set()
}

// set sets the alarm for the first timer. The alarm may expire for a timer that was stopped
// since. The caller holds c.mu.
func (c *Clock) set() {
	if c.alarm != nil && c.timers.Next() < c.due {
		c.due = c.timers.Next()
		c.alarm.set(max(c.due-c.Now(), 1))
	}
}

// timer is a call of f that is pending, stopped or done.
type timer struct {
	c   *Clock
	f   func()
	due machine.Deadline[*timer] // when to call f, as an entry of c.timers; guarded by c.mu, like all below
	std *time.Timer              // used instead of due by a clock without an alarm
}

// start makes the call pending, d from now. The caller holds c.mu.
func (t *timer) start(d time.Duration) {
	if t.c.alarm == nil {
		t.std = time.AfterFunc(d, t.f)
		return
	}
	now := t.c.Now()
	t.c.timers.Set(&t.due, now+min(max(d, 0), machine.Never-now))
	t.c.set()
}

// Stop implements machine.Timer.
func (t *timer) Stop() bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	return t.stop()
}

// stop does what Stop does. The caller holds c.mu.
func (t *timer) stop() bool {
	if t.std != nil {
		return t.std.Stop()
	}
	return t.c.timers.Clear(&t.due)
}

// Reset works like that of time.Timer.
func (t *timer) Reset(d time.Duration) bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	pending := t.stop()
	t.start(d)
	return pending
}
