package readloop

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A loop in which something lies unread is taken back by the second check at the latest. Each check costs a
// thread switch; one every 2 ms makes round trips through an EQ a tenth slower. So the watchdog often
// checks only the loops of unproven followers, which have not shown yet that they come back soon. A
// follower that comes back late is unproven again.
const longPeriod = 10 * time.Millisecond

// Watchdog takes idle loops back. One serves several sources; its goroutine ends soon after
// the last hand-over.
type Watchdog struct {
	Absence time.Duration // how long its loops may be idle while something lies unread; 0: MaxAbsence
	Period  time.Duration // time between two checks; 0: half of Absence for loops of unproven followers, 10 ms for others

	touched atomic.Bool // since the last check a loop was handed over or a Receive ended
	asleep  atomic.Bool // no check is due before the next Receive ends

	mu    sync.Mutex
	loops []*Loop // loops that were handed over; guarded by mu
	timer *timer  // guarded by mu; nil while there is no goroutine
	short bool    // the timer has the short period; guarded by mu

	checked []*Loop // loops of the round in progress; used only by the goroutine
}

func (w *Watchdog) maxAbsence() time.Duration { return cmp.Or(w.Absence, MaxAbsence) }

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
	w.touched.Store(true)            // a round in progress does not include l, so another round must follow
	if w.asleep.Load() || !w.short { // a short timer is not started anew: frequent hand-overs would put off the check for ever
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
	if len(w.loops) == 0 && w.timer != nil { // a hand-over may follow at once, so the goroutine ends a period later
		w.asleep.Store(false)
		w.short = false
		w.timer.start(longPeriod)
	}
}

// resume tells the watchdog that a Receive has ended: from now on the loop is idle.
func (w *Watchdog) resume(unproven bool) {
	w.touched.Store(true) // before asleep is read, because settle sets asleep before it reads touched
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
		period = w.maxAbsence() / 2
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
	w.checked = w.all(w.checked[:0])
	for _, l := range w.checked {
		if l.check() {
			busy, unproven = true, unproven || l.unproven()
		}
	}
	clear(w.checked)
	w.settle(t, busy, unproven)
}

// all appends all loops to list.
func (w *Watchdog) all(list []*Loop) []*Loop {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(list, w.loops...)
}

// settle stops the timer if no check is due, ends the goroutine if there is no loop, and else
// chooses the period.
func (w *Watchdog) settle(t *timer, busy, unproven bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != t {
		return
	}
	if len(w.loops) == 0 {
		t.close()
		w.timer = nil
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
