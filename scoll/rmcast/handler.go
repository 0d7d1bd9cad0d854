package rmcast

import (
	"context"
	"reflect"
	"runtime"
	"time"
)

// ErrInHandler says that a handler called a function that waits for something that happens
// only after the handler has returned.
var ErrInHandler error = &Error{Why: "a handler may not wait: use Post or BeginLeave there, or another goroutine"}

// ErrHandling says that a handler was still running when Close returned.
var ErrHandling error = &Error{Why: "closed, but a handler of a group has not returned"}

// stuckAfter is how long closing an agent or a group waits for running handlers.
const stuckAfter = time.Second

// applyEntry and tellEntry are the entry points of the functions that call all handlers.
var (
	applyEntry = reflect.ValueOf((*Group).apply).Pointer()
	tellEntry  = reflect.ValueOf((*Group).tell).Pointer()
)

// inHandler reports whether a handler of a group is its caller. Searching the stack takes a
// microsecond, so inHandler does that only while a handler may be running.
func (a *Agent) inHandler() bool {
	if a.applying.Load() == 0 {
		return false
	}
	var frames [32]uintptr
	for skip := 2; ; skip += len(frames) {
		n := runtime.Callers(skip, frames[:])
		for _, pc := range frames[:n] {
			if f := runtime.FuncForPC(pc - 1); f != nil && (f.Entry() == applyEntry || f.Entry() == tellEntry) {
				return true
			}
		}
		if n < len(frames) {
			return false
		}
	}
}

// closeBy returns the instant until which closing waits for handlers. If the caller is a
// handler, or ctx has ended, that is now.
func (a *Agent) closeBy(ctx context.Context) time.Duration {
	now := a.cfg.Clock.Now()
	if a.inHandler() || ctx.Err() != nil {
		return now
	}
	return now + stuckAfter
}
