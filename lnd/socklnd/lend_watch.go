package socklnd

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// loanPeriod is how often loans are looked at: an unused right comes back after
// one to two of them. Each look costs the switch of a thread, which at 2 ms made
// round trips through an EQ a tenth slower.
const loanPeriod = 10 * time.Millisecond

// loanWatch looks at the loans of a driver's connections while they are in
// use. Its goroutine exists as long as there are loans.
type loanWatch struct {
	period  time.Duration // 0: loanPeriod
	touched atomic.Bool   // a loan has begun or a Receive ended since the last look
	asleep  atomic.Bool   // no look is due before the next one ends

	mu    sync.Mutex
	loans []*lending // guarded by mu
	timer *loanTimer // guarded by mu; nil while there is no goroutine
}

// add begins to watch a loan. It returns false if it cannot.
func (w *loanWatch) add(l *lending) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		w.timer = newLoanTimer()
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
func (w *loanWatch) remove(l *lending) {
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
func (w *loanWatch) resume() {
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

// wake has the next look taken after loanPeriod. The caller holds w.mu.
func (w *loanWatch) wake() {
	w.asleep.Store(false)
	w.timer.start(or(w.period, loanPeriod))
}

// run takes one look after the other until t is closed.
func (w *loanWatch) run(t *loanTimer) {
	for t.wait() {
		busy := false
		for _, l := range w.all() {
			busy = l.look() || busy
		}
		w.settle(t, busy)
	}
}

func (w *loanWatch) all() []*lending {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.loans)
}

// settle falls asleep if no look is due.
func (w *loanWatch) settle(t *loanTimer, busy bool) {
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
