package emulator

import (
	"container/heap"
	"sync"
	"time"

	"ulnet/lnet/machine"
)

// Clock is a clock whose time passes when its owner lets it (machine.Clock).
// Timers run in the goroutine of Run, one at a time and in order; those of an
// instant in the order in which they were set. Safe for concurrent use; of Run
// there is one call at a time.
type Clock struct {
	mu    sync.Mutex // guards all below
	now   time.Duration
	seq   uint64
	calls callHeap
}

var _ machine.Clock = (*Clock)(nil)

// NewClock returns a clock that shows 0.
func NewClock() *Clock { return new(Clock) }

// call is a timer. It may be set again.
type call struct {
	clock *Clock
	f     func()
	at    time.Duration
	seq   uint64
	place int // in the heap; -1 for none
}

// Now returns the time (machine.Clock).
func (c *Clock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc has f called (machine.Clock).
func (c *Clock) AfterFunc(d time.Duration, f func()) machine.Timer {
	t := &call{clock: c, f: f, place: -1}
	t.Reset(d)
	return t
}

// Reset sets the timer anew and reports whether it was set.
func (t *call) Reset(d time.Duration) bool {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	was := t.place >= 0
	if was {
		heap.Remove(&c.calls, t.place)
	}
	c.seq++
	t.at, t.seq = c.now+max(d, 0), c.seq
	heap.Push(&c.calls, t)
	return was
}

// Stop prevents the call (machine.Timer).
func (t *call) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if t.place < 0 {
		return false
	}
	heap.Remove(&t.clock.calls, t.place)
	return true
}

// Step lets time pass to the next timer and runs it. It reports false, and does
// nothing, if none is due until then.
func (c *Clock) Step(until time.Duration) bool {
	c.mu.Lock()
	if len(c.calls) == 0 || c.calls[0].at > until {
		c.mu.Unlock()
		return false
	}
	t := heap.Pop(&c.calls).(*call)
	c.now = max(c.now, t.at)
	c.mu.Unlock()
	t.f()
	return true
}

// Run lets time pass to an instant.
func (c *Clock) Run(until time.Duration) {
	for c.Step(until) {
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, until)
}

// callHeap has the earliest first (heap.Interface).
type callHeap []*call

func (h callHeap) Len() int { return len(h) }

func (h callHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}

func (h callHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *callHeap) Push(x any) {
	t := x.(*call)
	t.place = len(*h)
	*h = append(*h, t)
}

func (h *callHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h, t.place = (*h)[:last], -1
	return t
}
