package loan

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// An unused right comes back after one to two looks. Each look costs the switch of a
// thread, which every 2 ms made round trips through an EQ a tenth slower. So the watch
// looks often at loans that have not been used often yet, where a borrower must be
// expected to stay away, and seldom at others: those lose the right when they come back
// late for the first time.
const (
	youngPeriod = Patience / 2
	usualPeriod = 10 * time.Millisecond
)

// Watch looks at the loans of some sources while they are in use. Its goroutine
// exists as long as there are loans.
type Watch struct {
	Period time.Duration // between two looks; 0: 100 µs for loans that have hardly been used, 10 ms for others

	touched atomic.Bool // a loan has begun or a Receive ended since the last look
	asleep  atomic.Bool // no look is due before the next one ends

	mu    sync.Mutex
	loans []*Lending // guarded by mu
	timer *timer     // guarded by mu; nil while there is no goroutine
	often bool       // the timer has the period for young loans; guarded by mu
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
	w.touched.Store(true)            // a look that is being taken does not see l
	if w.asleep.Load() || !w.often { // else leave the timer: loans that come all the time shall not put off the look
		w.wake(true)
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
func (w *Watch) resume(young bool) {
	w.touched.Store(true) // before asleep is read: settle does it the other way round
	if !w.asleep.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.wake(young)
	}
}

// wake has the next look taken after a period. The caller holds w.mu.
func (w *Watch) wake(often bool) {
	w.asleep.Store(false)
	w.often = often
	period := usualPeriod
	if often {
		period = youngPeriod
	}
	w.timer.start(cmp.Or(w.Period, period))
}

// run takes one look after the other until t is closed.
func (w *Watch) run(t *timer) {
	for t.wait() {
		w.round(t)
	}
}

// round looks at all loans once.
func (w *Watch) round(t *timer) {
	busy, young := false, false
	for _, l := range w.all() {
		if l.look() {
			busy, young = true, young || l.young()
		}
	}
	w.settle(t, busy, young)
}

func (w *Watch) all() []*Lending {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.loans)
}

// settle falls asleep if no look is due, and else looks as often as need be.
func (w *Watch) settle(t *timer, busy, young bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != t {
		return
	}
	if busy {
		if young != w.often {
			w.wake(young)
		}
		return
	}
	w.asleep.Store(true)
	if w.touched.Swap(false) {
		w.asleep.Store(false)
		return
	}
	t.stop()
}
