// Package watch tells users of changes by calling their functions, for the agents of gossip and of zones.
package watch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"ulnet/lnet/machine"
)

// Queue has the changes that are still to be reported to a user, in their order. It merges changes, so that a slow
// user does not make it grow without bound.
type Queue[E any] interface {
	Push(e E) // adds a change
	Pop() E   // removes the first change
	Len() int // number of changes
}

// Watchers tell users of changes by calling their functions. The calls are not made in steps of the machine, and a
// slow user does not delay the others.
type Watchers[E any] struct {
	clock  machine.Clock
	idle   chan struct{} // closed once Close was called and no call of a watcher is under way
	mu     sync.Mutex
	list   []*watcher[E] // guarded by mu, like all below
	calls  int           // number of calls of watchers that are under way
	closed bool          // the agent is closed: no more calls
}

// watcher is one user: its function, with the changes that are still to be reported to it.
type watcher[E any] struct {
	f func(E)
	w *Watchers[E]

	mu      sync.Mutex
	queue   Queue[E] // guarded by mu, like all below
	running bool
	stopped bool
}

// Init makes the watchers ready. Their functions are called in goroutines of timers of the clock.
func (w *Watchers[E]) Init(clock machine.Clock) { w.clock, w.idle = clock, make(chan struct{}) }

// Add adds a user with the function f and an empty queue. It calls known(tell), which must call tell with what there is
// already; that is the first that f is called with. No call of f begins after a call of stop, but an earlier one may
// still run then.
func (w *Watchers[E]) Add(f func(E), queue Queue[E], known func(tell func(E))) (stop func()) {
	u := &watcher[E]{f: f, w: w, queue: queue}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.list = append(w.list, u)
		known(u.tell)
	}
	return func() { w.remove(u) }
}

// remove ends watching; a call of the function may be under way.
func (w *Watchers[E]) remove(u *watcher[E]) {
	w.mu.Lock()
	w.list = slices.DeleteFunc(w.list, func(other *watcher[E]) bool { return other == u })
	w.mu.Unlock()
	u.mu.Lock()
	u.stopped = true
	u.mu.Unlock()
}

// Tell passes a change on to all users.
func (w *Watchers[E]) Tell(e E) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range w.list {
		u.tell(e)
	}
}

// Close ends all watching. Calls that run go on; later changes, and those that wait, are not passed on.
func (w *Watchers[E]) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list, w.closed = nil, true
	w.rest()
}

// Idle returns a channel that is closed once Close was called and no call of a function is under way; see [Returned].
func (w *Watchers[E]) Idle() <-chan struct{} { return w.idle }

// begin counts a call of a watcher's function that begins. After Close it counts nothing and returns
// false.
func (w *Watchers[E]) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.calls++
	}
	return !w.closed
}

// end counts a call of a watcher's function that has returned.
func (w *Watchers[E]) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls--
	w.rest()
}

// rest closes idle when no call runs any more after Close. The caller holds w.mu.
func (w *Watchers[E]) rest() {
	if w.closed && w.calls == 0 {
		close(w.idle)
	}
}

// tell queues a change, and starts the goroutine that calls f unless it is running already.
func (u *watcher[E]) tell(e E) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.stopped {
		return
	}
	u.queue.Push(e)
	if !u.running && u.queue.Len() > 0 {
		u.running = true
		u.w.clock.AfterFunc(time.Nanosecond, u.run)
	}
}

// run calls f for all queued changes.
func (u *watcher[E]) run() {
	u.mu.Lock()
	for u.queue.Len() > 0 && !u.stopped {
		e := u.queue.Pop()
		u.mu.Unlock()
		if u.w.begin() {
			u.f(e)
			u.w.end()
		}
		u.mu.Lock()
	}
	u.running = false
	u.mu.Unlock()
}

// Returned waits until idle is closed, which says that all calls of some functions have returned, or until ctx ends.
// Then the error names the closed agent and the functions.
func Returned(ctx context.Context, idle <-chan struct{}, agent, functions string) error {
	select {
	case <-idle:
		return nil
	default:
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: closed, but %s has not returned: %w", agent, functions, context.Cause(ctx))
	}
}
