package softroce

import (
	"container/heap"
	"sync"
	"time"

	"ulnet/lnet/machine"
)

// timed has something due now and then.
type timed struct {
	expired func(now time.Duration) // called without locks

	// Guarded by the lock of its timers.
	due   time.Duration
	place int // in the heap; -1 for none
}

// timers call whoever has something due, by one timer of the clock. A timed is
// called once for being set, perhaps too early: it looks at its own wake and sets
// itself again. So who moves its wake to later need not tell. Safe for concurrent
// use.
type timers struct {
	clock machine.Clock

	mu      sync.Mutex // guards all below
	idle    sync.Cond  // nobody is called
	heap    timedHeap
	at      time.Duration // when the clock's timer is due
	timer   machine.Timer
	firing  bool
	closed  bool
	calling []*timed
}

// grain is local policy: instants are rounded up to its multiples, so that what is
// due at about the same time is called together.
const grain = 200 * time.Microsecond

func newTimers(clock machine.Clock) *timers {
	t := &timers{clock: clock, at: machine.Never}
	t.idle.L = &t.mu
	return t
}

// set has e called soon after due, if not before.
func (t *timers) set(e *timed, due time.Duration) {
	due = (due + grain - 1) / grain * grain
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed || e.place >= 0 && e.due <= due:
		return
	case e.place >= 0:
		e.due = due
		heap.Fix(&t.heap, e.place)
	default:
		e.due = due
		heap.Push(&t.heap, e)
	}
	t.start()
}

// remove forgets e. A call of it may be under way.
func (t *timers) remove(e *timed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.place >= 0 {
		heap.Remove(&t.heap, e.place)
	}
}

// start sets the clock's timer for the first in the heap. A call that is under way
// does that at its end.
func (t *timers) start() {
	if t.firing || t.closed || len(t.heap) == 0 || t.heap[0].due >= t.at {
		return
	}
	t.at = t.heap[0].due
	d := max(t.at-t.clock.Now(), 0)
	if r, ok := t.timer.(interface{ Reset(time.Duration) bool }); ok {
		r.Reset(d) // as a new one, without its memory
		return
	}
	if t.timer != nil {
		t.timer.Stop()
	}
	t.timer = t.clock.AfterFunc(d, t.fire)
}

// fire calls who is due.
func (t *timers) fire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.firing || t.closed {
		return
	}
	now := t.clock.Now()
	for len(t.heap) > 0 && t.heap[0].due <= now {
		t.calling = append(t.calling, heap.Pop(&t.heap).(*timed))
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

// close returns when nobody is called any more.
func (t *timers) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	for t.firing {
		t.idle.Wait()
	}
}

// timedHeap has the earliest first (heap.Interface).
type timedHeap []*timed

func (h timedHeap) Len() int           { return len(h) }
func (h timedHeap) Less(i, j int) bool { return h[i].due < h[j].due }

func (h timedHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *timedHeap) Push(x any) {
	e := x.(*timed)
	e.place = len(*h)
	*h = append(*h, e)
}

func (h *timedHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h, e.place = (*h)[:last], -1
	return e
}
