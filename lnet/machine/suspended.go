package machine

import (
	"sync/atomic"
	"time"
)

// CountSuspensions returns a clock that is ahead of a real clock by the time for which the system has been
// suspended since. Its timers are those of the given clock, which stop during a suspension. Unlike [BootClock],
// it makes a system call at most once per millisecond, so it is for machines that handle many messages: a
// suspension may show a millisecond after the system has resumed. Systems other than Linux get the given clock.
func CountSuspensions(clock Clock) Clock {
	boot := BootClock()
	if _, ok := boot.(*realClock); ok {
		return clock // the system does not tell how long it was suspended
	}
	return countSuspensions(clock, boot)
}

// lookAgain is the time between two looks at the clock that counts suspensions.
const lookAgain = time.Millisecond

type suspendedClock struct {
	Clock
	boot      Clock         // the clock that counts suspensions
	began     time.Duration // by how much boot was ahead of Clock at the start
	lookAt    atomic.Int64  // when, on Clock, boot is read again
	suspended atomic.Int64  // for how long the system has been suspended since the start
}

func countSuspensions(clock, boot Clock) Clock {
	now := clock.Now()
	return &suspendedClock{Clock: clock, boot: boot, began: boot.Now() - now} // too much, if at all
}

func (c *suspendedClock) Now() time.Duration {
	now := c.Clock.Now()
	if int64(now) >= c.lookAt.Load() {
		c.look()
		now = c.Clock.Now()
	}
	return now + time.Duration(c.suspended.Load())
}

// look reads the clock that counts suspensions. It reads that one first: if the goroutine has to wait between
// the two looks, the difference is too small, and the next look shows the rest.
func (c *suspendedClock) look() {
	ahead := c.boot.Now()
	now := c.Clock.Now()
	c.lookAt.Store(int64(now + lookAgain))
	longer := int64(ahead - now - c.began)
	for before := c.suspended.Load(); longer > before && !c.suspended.CompareAndSwap(before, longer); before = c.suspended.Load() {
	}
}
