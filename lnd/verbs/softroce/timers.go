package softroce

import (
	"sync"
	"time"

	"ulnet/lnet/machine"
)

// timed has a function that timers call when its deadline, if it has one, has come.
type timed struct {
	expired func(now time.Duration) // called when due, without locks held

	due machine.Deadline[*timed] // deadline; guarded by the lock of its timers
}

// timers call each timed that is due, with one timer of the clock. A timed is called once
// for each time it is set, perhaps too early: it checks its own wake and sets itself again.
// So a timed whose wake moves to later need not be set again. Safe for concurrent use.
type timers struct {
	clock machine.Clock

	mu      sync.Mutex // guards all fields below
	idle    sync.Cond  // signaled when no timed's function is running
	heap    machine.Deadlines[*timed]
	at      time.Duration // time that alarm is set to
	alarm   machine.Alarm // the timer of the clock
	firing  bool
	closed  bool
	calling []*timed
}

// grain is local policy: deadlines are rounded up to its multiples, so that timeds that are
// due at about the same time are called together.
const grain = 200 * time.Microsecond

func newTimers(clock machine.Clock) *timers {
	t := &timers{clock: clock, at: machine.Never}
	t.idle.L = &t.mu
	t.alarm = machine.Alarm{Clock: clock, Call: t.fire}
	return t
}

// set makes e be called at due, rounded up to a multiple of grain. If e is set for an earlier time
// already, it stays set for that time.
func (t *timers) set(e *timed, due time.Duration) {
	due = (due + grain - 1) / grain * grain
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || e.due.IsSet() && e.due.At() <= due {
		return
	}
	e.due.Of = e
	t.heap.Set(&e.due, due)
	t.start()
}

// remove forgets e. A call of its function may still be in progress.
func (t *timers) remove(e *timed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heap.Clear(&e.due)
}

// start sets the clock's timer for the first timed in the heap. If fire is running, fire does
// that at its end.
func (t *timers) start() {
	if t.firing || t.closed || t.heap.Next() >= t.at {
		return
	}
	t.at = t.heap.Next()
	t.alarm.Set(t.clock.Now(), t.at)
}

// fire calls the function of each timed that is due.
func (t *timers) fire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.firing || t.closed {
		return
	}
	now := t.clock.Now()
	for due := t.heap.Pop(now); due != nil; due = t.heap.Pop(now) {
		t.calling = append(t.calling, due.Of)
	}
	t.firing, t.at = true, machine.Never
	t.mu.Unlock()
	for _, e := range t.calling {
		e.expired(t.clock.Now())
	}
	t.mu.Lock()
	clear(t.calling)
	t.calling, t.firing = t.calling[:0], false
	t.idle.Broadcast()
	t.start()
}

// close stops the timers, and returns when no expired method runs any more.
func (t *timers) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.alarm.Stop()
	for t.firing {
		t.idle.Wait()
	}
}
