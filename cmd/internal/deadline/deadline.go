// Package deadline bounds waits that nothing else ends, such as those for a system call on a disk that
// does not answer. A daemon that shuts down uses it, so that one wait does not use up the time of all
// others.
package deadline

import (
	"context"
	"time"
)

// last is how long Wait waits for its function if the context has ended before the call.
const last = 10 * time.Millisecond

// Wait calls f in a goroutine of its own, and returns nil when f has returned. If ctx ends first, Wait
// returns the cause, and f goes on. If ctx has ended before the call, Wait still gives f a moment, because f may
// return at once, and then its wait has not failed.
func Wait(ctx context.Context, f func()) error {
	if ctx.Err() != nil {
		late, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), last, context.Cause(ctx))
		defer cancel()
		ctx = late
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		f()
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
