package engine

import (
	"container/heap"
	"time"
)

// alarm is an instant at which something is due for a peer.
type alarm struct {
	peer  *peer
	at    time.Duration
	turn  uint64 // of those with one at: the order in which they were set
	place int    // in the heap, -1: it is not set
}

// alarms is a heap of alarms, the earliest first.
type alarms struct {
	heap alarmHeap
	last uint64 // turn
}

// first returns the earliest alarm, or nil.
func (s *alarms) first() *alarm {
	if len(s.heap) == 0 {
		return nil
	}
	return s.heap[0]
}

// set sets an alarm, or moves it.
func (s *alarms) set(a *alarm, at time.Duration) {
	switch {
	case a.place < 0:
		s.last++
		a.at, a.turn = at, s.last
		heap.Push(&s.heap, a)
	case a.at != at:
		a.at = at
		heap.Fix(&s.heap, a.place)
	}
}

// clear takes an alarm back, if it is set.
func (s *alarms) clear(a *alarm) {
	if a.place >= 0 {
		heap.Remove(&s.heap, a.place)
	}
}

type alarmHeap []*alarm

func (h alarmHeap) Len() int { return len(h) }

func (h alarmHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].turn < h[j].turn
}

func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *alarmHeap) Push(x any) {
	a := x.(*alarm)
	a.place = len(*h)
	*h = append(*h, a)
}

// Pop implements heap.Interface.
func (h *alarmHeap) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	a.place = -1
	return a
}
