// Package deadline bounds waits that nothing else ends, such as those for a system call on a disk that
// does not answer. The end of the daemon uses it, so that one wait does not take the time of all others.
package deadline

import "context"

// Wait calls f in a goroutine of its own, and returns nil when f has returned. If ctx ends first, Wait
// returns the cause, and f goes on.
func Wait(ctx context.Context, f func()) error {
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
