package portals

import (
	"container/heap"
	"sync"
	"time"

	"ulnet/lnet/machine"
)

// deadlines are those of the calls that have one, the nearest first. One timer serves
// them all: it is set anew when a nearer one comes, and when it has fired.
type deadlines struct {
	mu    sync.Mutex // after md.mu
	calls byDeadline // a heap; guarded by mu, like all below
	timer machine.Timer
	at    time.Duration // when timer fires
}

// callTimeout is the place of a call among the deadlines.
type callTimeout struct {
	at    time.Duration
	index int // in the heap, from 1; 0: it is not there
}

// add has a call time out at an instant.
func (l *deadlines) add(c *call, at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.timeout.at = at
	heap.Push(&l.calls, c)
}

// remove is for any call, with a deadline or without.
func (l *deadlines) remove(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.timeout.index > 0 {
		heap.Remove(&l.calls, c.timeout.index-1)
	}
}

// due takes the nearest call out, if its time has come.
func (l *deadlines) due(now time.Duration) (c *call, handle uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) == 0 || l.calls[0].timeout.at > now {
		return nil, 0
	}
	c = l.calls[0]
	handle = c.handle.Load() // end takes it out before it forgets the handle
	heap.Pop(&l.calls)
	return c, handle
}

// watchDeadlines sets the timer for the nearest deadline. It holds no lock of an MD.
func (t *Table) watchDeadlines() {
	l := &t.deadlines
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) == 0 {
		return
	}
	at := l.calls[0].timeout.at
	if l.timer != nil {
		if l.at <= at {
			return
		}
		l.timer.Stop()
	}
	clock := t.node.Clock()
	l.at = at
	l.timer = clock.AfterFunc(max(at-clock.Now(), 0), t.expire)
}

// expire ends the calls whose time has come.
func (t *Table) expire() {
	l := &t.deadlines
	l.mu.Lock()
	l.timer = nil
	l.mu.Unlock()
	now := t.node.Clock().Now()
	for c, handle := l.due(now); c != nil; c, handle = l.due(now) {
		if c, d := t.lockCall(handle); c != nil {
			t.timeOut(d, c)
		}
	}
	t.watchDeadlines()
}

// byDeadline is a heap of calls.
type byDeadline []*call

func (h byDeadline) Len() int           { return len(h) }
func (h byDeadline) Less(i, j int) bool { return h[i].timeout.at < h[j].timeout.at }

func (h byDeadline) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].timeout.index, h[j].timeout.index = i+1, j+1
}

func (h *byDeadline) Push(x any) {
	c := x.(*call)
	*h = append(*h, c)
	c.timeout.index = len(*h)
}

func (h *byDeadline) Pop() any {
	n := len(*h) - 1
	c := (*h)[n]
	(*h)[n], *h = nil, (*h)[:n]
	c.timeout.index = 0
	return c
}
