package machine

import (
	"context"
	"time"
)

// Clock is what code outside of machines uses instead of package time, so
// that the same stack runs in real and in virtual time.
type Clock interface {
	// Now returns the time since an instant that is fixed for the clock.
	Now() time.Duration
	// AfterFunc calls f once, d from now, unless the timer is stopped first.
	// f must not block; on a real clock it runs in a goroutine of its own.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending call of [Clock.AfterFunc].
type Timer interface {
	// Stop prevents the call and reports whether it did; false means that
	// the call has begun or was stopped before.
	Stop() bool
}

// RealClock returns a clock that follows the monotonic clock of package time
// and begins at zero. Under testing/synctest it follows the bubble's clock.
func RealClock() Clock { return &realClock{start: time.Now()} }

type realClock struct{ start time.Time }

func (c *realClock) Now() time.Duration { return time.Since(c.start) }

func (c *realClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// Left returns the time until ctx's deadline, and whether it has one. A deadline is a time of the
// real clock, even if the caller's own Clock is another.
func Left(ctx context.Context) (d time.Duration, ok bool) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0, false
	}
	return time.Until(deadline), true
}
