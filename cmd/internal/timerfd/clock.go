// Package timerfd is a real clock whose timers are all one timer of the system.
//
// The runtime's timers are kept by its poller: while one is pending, each wait
// for the network has a time-out, which the system has to set and to take back.
// Where messages are small and timers near that costs a fifth of their time. A
// timerfd(2) is set once and then is one more descriptor to wait for.
package timerfd

import (
	"sync"
	"time"

	"ulnet/lnet/machine"
)

// Clock is a machine.Clock that follows the monotonic clock and begins at zero.
// It is not for testing/synctest. Methods are safe for concurrent use.
type Clock struct {
	machine.Clock

	mu     sync.Mutex
	alarm  *alarm // guarded by mu, like all below; nil: closed, or the system has none
	timers machine.Deadlines[*timer]
	due    time.Duration // when alarm rings; machine.Never: it does not
	over   chan struct{} // closed when the goroutine has ended
}

// NewClock returns a clock, which has a goroutine until Close. Where the system
// has no such timers it is machine.RealClock.
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

// Close gives pending timers, and those that are still started, to the runtime.
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

// expire runs what is due.
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

// set sees to it that the alarm rings for the first timer. It may ring early,
// for one that was stopped. The caller holds c.mu.
func (c *Clock) set() {
	if c.alarm != nil && c.timers.Next() < c.due {
		c.due = c.timers.Next()
		c.alarm.set(max(c.due-c.Now(), 1))
	}
}

// timer is a pending call, or one that was.
type timer struct {
	c   *Clock
	f   func()
	due machine.Deadline[*timer] // in c.timers; guarded by c.mu, like all below
	std *time.Timer              // instead, of a clock without an alarm
}

// start has the call made d from now. The caller holds c.mu.
func (t *timer) start(d time.Duration) {
	if t.c.alarm == nil {
		t.std = time.AfterFunc(d, t.f)
		return
	}
	t.c.timers.Set(&t.due, t.c.Now()+d)
	t.c.set()
}

// Stop implements machine.Timer.
func (t *timer) Stop() bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	return t.stop()
}

// stop is Stop. The caller holds c.mu.
func (t *timer) stop() bool {
	if t.std != nil {
		return t.std.Stop()
	}
	return t.c.timers.Clear(&t.due)
}

// Reset is that of time.Timer.
func (t *timer) Reset(d time.Duration) bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	pending := t.stop()
	t.start(d)
	return pending
}
