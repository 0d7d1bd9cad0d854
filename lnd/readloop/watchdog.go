package readloop

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// An idle loop is taken back by the second check at the latest. Each check costs a thread
// switch; one every 2 ms makes round trips through an EQ a tenth slower. So the watchdog
// checks loops of unproven followers often and others seldom: those lose the loop when
// they come back late for the first time.
const (
	shortPeriod = MaxAbsence / 2
	longPeriod  = 10 * time.Millisecond
)

// Watchdog takes idle loops back. One serves several sources; its goroutine exists while
// any loop is handed over.
type Watchdog struct {
	Period time.Duration // between two checks; 0: 100 µs for loops of unproven followers, 10 ms for others

	touched atomic.Bool // since the last check a loop was handed over or a Receive ended
	asleep  atomic.Bool // no check is due before the next Receive ends

	mu    sync.Mutex
	loops []*Loop // loops that were handed over; guarded by mu
	timer *timer  // guarded by mu; nil while there is no goroutine
	short bool    // the timer has the short period; guarded by mu
}

// add begins to watch a loop. It returns false if the system has no timer.
func (w *Watchdog) add(l *Loop) bool {
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
	w.loops = append(w.loops, l)
	w.touched.Store(true)            // a check in progress does not look at l
	if w.asleep.Load() || !w.short { // else keep the timer: frequent hand-overs must not put off the check
		w.wake(true)
	}
	return true
}

// remove stops the watch of l.
func (w *Watchdog) remove(l *Loop) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.loops, l); i >= 0 {
		w.loops = slices.Delete(w.loops, i, i+1)
	}
	if len(w.loops) == 0 && w.timer != nil {
		w.timer.close()
		w.timer = nil
	}
}

// resume tells the watchdog that a Receive has ended: from now on the loop is idle.
func (w *Watchdog) resume(unproven bool) {
	w.touched.Store(true) // before asleep is read: settle does it in the other order
	if !w.asleep.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.wake(unproven)
	}
}

// wake makes the next check due after a period. The caller holds w.mu.
func (w *Watchdog) wake(short bool) {
	w.asleep.Store(false)
	w.short = short
	period := longPeriod
	if short {
		period = shortPeriod
	}
	w.timer.start(cmp.Or(w.Period, period))
}

// run checks the loops until t is closed.
func (w *Watchdog) run(t *timer) {
	for t.wait() {
		w.round(t)
	}
}

// round checks all loops once.
func (w *Watchdog) round(t *timer) {
	busy, unproven := false, false
	for _, l := range w.all() {
		if l.check() {
			busy, unproven = true, unproven || l.unproven()
		}
	}
	w.settle(t, busy, unproven)
}

func (w *Watchdog) all() []*Loop {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.loops)
}

// settle stops the timer if no check is due, and else chooses the period.
func (w *Watchdog) settle(t *timer, busy, unproven bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != t {
		return
	}
	if busy {
		if unproven != w.short {
			w.wake(unproven)
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
