package loan

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// usualPeriod is how often loans are looked at: an unused right comes back after
// one to two of them. Each look costs the switch of a thread, which at 2 ms made
// round trips through an EQ a tenth slower.
const usualPeriod = 10 * time.Millisecond

// Watch looks at the loans of some sources while they are in use. Its goroutine
// exists as long as there are loans.
type Watch struct {
	Period time.Duration // between two looks; 0: 10 ms

	touched atomic.Bool // a loan has begun or a Receive ended since the last look
	asleep  atomic.Bool // no look is due before the next one ends

	mu    sync.Mutex
	loans []*Lending // guarded by mu
	timer *timer     // guarded by mu; nil while there is no goroutine
}

// add begins to watch a loan. It returns false if it cannot.
func (w *Watch) add(l *Lending) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		w.timer = newTimer()
		if w.timer == nil {
			return false
		}
		w.asleep.Store(true)
		go w.run(w.timer)
	}
	w.loans = append(w.loans, l)
	w.touched.Store(true) // a look that is being taken does not see l
	if w.asleep.Load() {  // else leave the timer: loans that come all the time shall not put off the look
		w.wake()
	}
	return true
}

// remove ends it.
func (w *Watch) remove(l *Lending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.loans, l); i >= 0 {
		w.loans = slices.Delete(w.loans, i, i+1)
	}
	if len(w.loans) == 0 && w.timer != nil {
		w.timer.close()
		w.timer = nil
	}
}

// resume tells the watch that a Receive has ended, which is when a loan can
// begin to lie unused.
func (w *Watch) resume() {
	w.touched.Store(true) // before asleep is read: settle does it the other way round
	if !w.asleep.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.wake()
	}
}

// wake has the next look taken after a period. The caller holds w.mu.
func (w *Watch) wake() {
	w.asleep.Store(false)
	w.timer.start(cmp.Or(w.Period, usualPeriod))
}

// run takes one look after the other until t is closed.
func (w *Watch) run(t *timer) {
	for t.wait() {
		busy := false
		for _, l := range w.all() {
			busy = l.look() || busy
		}
		w.settle(t, busy)
	}
}

func (w *Watch) all() []*Lending {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.loans)
}

// settle falls asleep if no look is due.
func (w *Watch) settle(t *timer, busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if busy || w.timer != t {
		return
	}
	w.asleep.Store(true)
	if w.touched.Swap(false) {
		w.asleep.Store(false)
		return
	}
	t.stop()
}
