package shell

import (
	"slices"
	"sync"
	"testing"
)

// A teller owns a queue of events, as a peer of a driver does.
type teller struct {
	mu     sync.Mutex
	events Events[int]
	next   int   // number of the next event; guarded by mu
	told   []int // numbers told so far; used only by the goroutine that tells
	tell   func(*int)
}

func (o *teller) unlock() {
	if !o.events.Begin() {
		o.mu.Unlock()
		return
	}
	o.events.Tell(&o.mu, o.tell)
}

func (o *teller) add() {
	o.mu.Lock()
	o.events.Add(o.next)
	o.next++
	o.unlock()
}

// TestEventsInOrder: events that several goroutines add are each delivered once, by one
// goroutine at a time, in the order in which they were added.
func TestEventsInOrder(t *testing.T) {
	const workers, each = 4, 2000
	var o teller
	var one sync.Mutex
	o.tell = func(e *int) {
		if !one.TryLock() {
			t.Error("two tell at once")
			return
		}
		defer one.Unlock()
		o.told = append(o.told, *e)
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range each {
				o.add()
			}
		})
	}
	all.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.told) != workers*each || !slices.IsSorted(o.told) || !o.events.Quiet() {
		t.Errorf("%d told, sorted %v, quiet %v", len(o.told), slices.IsSorted(o.told), o.events.Quiet())
	}
}

// TestEventsWhileTelling: the lock is free while a goroutine delivers events, and events that
// are added then are delivered by the same goroutine, after those that already wait.
func TestEventsWhileTelling(t *testing.T) {
	var o teller
	depth := 0
	o.tell = func(e *int) {
		depth++
		defer func() { depth-- }()
		if depth > 1 {
			t.Errorf("%d is told within another", *e)
		}
		o.told = append(o.told, *e)
		if *e < 2 { // events 0 and 1 add one more event each; these are told last
			o.add()
		}
		o.mu.Lock()
		if o.events.Quiet() {
			t.Error("quiet while told")
		}
		o.mu.Unlock()
	}
	o.mu.Lock()
	if !o.events.Quiet() || o.events.Begin() {
		t.Error("something to tell from the start")
	}
	o.events.Add(0)
	o.events.Add(1)
	o.next = 2
	if o.events.Quiet() {
		t.Error("quiet before anything is told")
	}
	o.unlock()
	if want := []int{0, 1, 2, 3}; !slices.Equal(o.told, want) {
		t.Errorf("told %v, want %v", o.told, want)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.events.Quiet() {
		t.Error("not quiet in the end")
	}
}
