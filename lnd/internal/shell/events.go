package shell

import "sync"

// Events is a queue of events to report once a lock is released, such as telling lnet that a
// peer is up. A mutex of the owner guards it. The zero value is ready.
//
//	mu.Lock()
//	events.Add(e)
//	if events.Begin() {
//		events.Tell(&mu, tell)
//	} else {
//		mu.Unlock()
//	}
type Events[E any] struct {
	waiting []E
	telling bool // whether a goroutine is between Begin and the end of Tell
}

// Add notes an event. The caller holds the mutex.
func (q *Events[E]) Add(e E) { q.waiting = append(q.waiting, e) }

// Quiet reports that no event waits and no goroutine is in Tell. The caller holds the mutex.
func (q *Events[E]) Quiet() bool { return len(q.waiting) == 0 && !q.telling }

// Begin reports whether the caller has to call Tell: an event waits and no other goroutine is
// in Tell, which would report it too. The caller holds the mutex.
func (q *Events[E]) Begin() bool {
	if len(q.waiting) == 0 || q.telling {
		return false
	}
	q.telling = true
	return true
}

// Tell calls tell for each event until none is left, also for events that tell itself or other
// goroutines add during these calls. The caller holds mu, and Begin has returned true. Tell unlocks mu
// for the calls, and returns with mu unlocked.
func (q *Events[E]) Tell(mu *sync.Mutex, tell func(*E)) {
	for len(q.waiting) > 0 {
		events := q.waiting
		q.waiting = nil
		mu.Unlock()
		for i := range events {
			tell(&events[i])
		}
		mu.Lock()
	}
	q.telling = false
	mu.Unlock()
}
