package gossip

import (
	"sync"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// watchFunc is told that a participant is alive, or not, and how often it has
// died so far. See [Agent.Watch].
type watchFunc func(id nid.NID, alive bool, aliveness uint64)

// watchers tell users of changes by calling their functions. The calls are not made in steps of the
// machine, and a slow user does not delay the others. If a participant changes several times before
// a call, the call has its latest state only. No death is lost: a participant that died and came
// back has another aliveness.
type watchers struct {
	clock  machine.Clock
	idle   chan struct{} // closed once close was called and no call of a watcher is under way
	mu     sync.Mutex
	list   []*watcher // guarded by mu, like all below
	calls  int        // number of calls of watchers that are under way
	closed bool       // the agent is closed: no more calls
}

func (w *watchers) init(clock machine.Clock) { w.clock, w.idle = clock, make(chan struct{}) }

// state is the state of a participant that is reported to a user.
type state struct {
	alive     bool
	aliveness uint64
}

// watcher is the registration that one call of Watch has made, with the changes that are still to be
// reported to its function.
type watcher struct {
	f watchFunc
	w *watchers

	mu      sync.Mutex
	order   []nid.NID // participants with a change that is still to be reported, in the order of their first change; guarded by mu, like all below
	latest  map[nid.NID]state
	running bool
	stopped bool
}

// add adds a watcher with the callback f. It calls known(tell), which must call tell with the present
// state of each live participant; tell queues that state for f.
func (w *watchers) add(f watchFunc, known func(tell func(nid.NID, state))) (stop func()) {
	u := &watcher{f: f, w: w, latest: make(map[nid.NID]state)}
	w.mu.Lock()
	if !w.closed {
		w.list = append(w.list, u)
		known(u.tell)
	}
	w.mu.Unlock()
	return func() { w.remove(u) }
}

// remove ends watching; a call of f may be under way.
func (w *watchers) remove(u *watcher) {
	w.mu.Lock()
	for i, other := range w.list {
		if other == u {
			w.list = append(w.list[:i:i], w.list[i+1:]...)
			break
		}
	}
	w.mu.Unlock()
	u.mu.Lock()
	u.stopped = true
	u.mu.Unlock()
}

// tell passes a change on to all watchers.
func (w *watchers) tell(id nid.NID, s state) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range w.list {
		u.tell(id, s)
	}
}

// close ends all watching. Calls that run go on; later changes are not passed on.
func (w *watchers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list, w.closed = nil, true
	w.rest()
}

// begin counts a call of a watcher's function that begins. After close it counts nothing and returns
// false.
func (w *watchers) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.calls++
	}
	return !w.closed
}

// end counts a call of a watcher's function that has returned.
func (w *watchers) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls--
	w.rest()
}

// rest closes idle when no call runs any more after close. The caller holds w.mu.
func (w *watchers) rest() {
	if w.closed && w.calls == 0 {
		close(w.idle)
	}
}

// tell queues a change, and starts the goroutine that calls f unless it is running already.
func (u *watcher) tell(id nid.NID, s state) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.stopped {
		return
	}
	if _, waits := u.latest[id]; !waits {
		u.order = append(u.order, id)
	}
	u.latest[id] = s
	if !u.running {
		u.running = true
		u.w.clock.AfterFunc(time.Nanosecond, u.run)
	}
}

// run calls f for all queued changes.
func (u *watcher) run() {
	u.mu.Lock()
	for len(u.order) > 0 && !u.stopped {
		id := u.order[0]
		u.order = u.order[1:]
		s := u.latest[id]
		delete(u.latest, id)
		u.mu.Unlock()
		if u.w.begin() {
			u.f(id, s.alive, s.aliveness)
			u.w.end()
		}
		u.mu.Lock()
	}
	u.running, u.order = false, nil
	u.mu.Unlock()
}
