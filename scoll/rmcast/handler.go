package rmcast

import (
	"context"
	"reflect"
	"runtime"
	"time"
)

// ErrInHandler says that a handler called a function that waits for what only comes when
// the handler has returned.
var ErrInHandler error = &Error{Why: "a handler may not wait: use Post or BeginLeave there, or another goroutine"}

// ErrHandling says that a handler has not returned when its agent was closed.
var ErrHandling error = &Error{Why: "closed, but a handler of a group has not returned"}

// stuckAfter is how long the end of an agent, or of a group, waits for handlers that run.
const stuckAfter = time.Second

// applyEntry is where the function begins that calls the handlers of all groups.
var applyEntry = reflect.ValueOf((*Group).apply).Pointer()

// inHandler reports whether it is called by a handler of a group. The look at the stack
// takes a microsecond, so it is taken only while a handler may be running.
func (a *Agent) inHandler() bool {
	if a.applying.Load() == 0 {
		return false
	}
	var frames [32]uintptr
	for skip := 2; ; skip += len(frames) {
		n := runtime.Callers(skip, frames[:])
		for _, pc := range frames[:n] {
			if f := runtime.FuncForPC(pc - 1); f != nil && f.Entry() == applyEntry {
				return true
			}
		}
		if n < len(frames) {
			return false
		}
	}
}

// closeBy is until when something that ends now waits for handlers: not at all if one of
// them is the caller, or ctx has ended.
func (a *Agent) closeBy(ctx context.Context) time.Duration {
	now := a.cfg.Clock.Now()
	if a.inHandler() || ctx.Err() != nil {
		return now
	}
	return now + stuckAfter
}
