package emulator

import (
	"sync"
	"time"

	"ulnet/lnet/machine"
)

// Clock is a clock whose time advances when its owner calls Run (machine.Clock). Timers run in the
// goroutine of Run, one at a time and in order; those of an instant in the order in which they
// were set. A Clock is safe for concurrent use, but only one call of Run at a time is allowed.
type Clock struct {
	mu    sync.Mutex // guards all fields below
	now   time.Duration
	calls machine.Deadlines[func()]
}

var _ machine.Clock = (*Clock)(nil)

// NewClock returns a clock that shows 0.
func NewClock() *Clock { return new(Clock) }

// call is a timer. It may be set again.
type call struct {
	clock *Clock
	due   machine.Deadline[func()]
}

// Now returns the time (machine.Clock).
func (c *Clock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc calls f after d of virtual time (machine.Clock).
func (c *Clock) AfterFunc(d time.Duration, f func()) machine.Timer {
	t := &call{clock: c, due: machine.Deadline[func()]{Of: f}}
	t.Reset(d)
	return t
}

// Reset sets the timer again and reports whether it was set.
func (t *call) Reset(d time.Duration) bool {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	was := t.due.IsSet()
	c.calls.Set(&t.due, c.now+max(d, 0))
	return was
}

// Stop prevents the call of f (machine.Timer).
func (t *call) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.clock.calls.Clear(&t.due)
}

// Step advances time to the next timer and runs it. It returns false, and does nothing, if no timer
// is due at the time until or earlier.
func (c *Clock) Step(until time.Duration) bool {
	c.mu.Lock()
	due := c.calls.Pop(until)
	if due == nil {
		c.mu.Unlock()
		return false
	}
	c.now = max(c.now, due.At())
	c.mu.Unlock()
	due.Of()
	return true
}

// Run advances the clock to the time until.
func (c *Clock) Run(until time.Duration) {
	for c.Step(until) {
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, until)
}
