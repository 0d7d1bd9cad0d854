package loan

import (
	"runtime"
	"testing"
	"time"
)

// TestLoanDuringLook (LF-5): a loan that begins while the watch looks at the others,
// none of which keeps it awake, is looked at too.
func TestLoanDuringLook(t *testing.T) {
	w := &Watch{Period: time.Hour}
	first, second := &Lending{state: Borrowed}, &Lending{state: Borrowed}
	add := func(l *Lending) {
		if !w.add(l) {
			t.Skip("the system has no timer")
		}
		t.Cleanup(func() { w.remove(l) })
	}
	add(first)
	w.settle(w.timer, first.look(), false) // first has begun since the last look
	looks := w.all()
	add(second)
	for _, l := range looks {
		l.look()
	}
	w.settle(w.timer, false, false)
	if w.asleep.Load() {
		t.Error("asleep before it has seen the second loan")
	}
	w.settle(w.timer, false, false)
	if !w.asleep.Load() {
		t.Error("awake with nothing to see")
	}
}

// TestLoansComeAndGo: loans of other connections do not put off the look at one
// that nobody uses.
func TestLoansComeAndGo(t *testing.T) {
	const period = 50 * time.Millisecond // seldom is anybody kept from running for so long
	l := newWire(t).start()
	w := &l.watch
	l.lend()
	w.mu.Lock()
	w.Period = period
	w.wake(true)
	w.mu.Unlock()
	other := &Lending{state: Borrowed}
	for begin := time.Now(); ; runtime.Gosched() {
		w.add(other)
		w.remove(other)
		if l.lending.Snapshot().State == Own {
			return
		}
		if time.Since(begin) > 80*period {
			t.Fatal("the right does not come back")
		}
	}
}

// TestOften: the watch looks often at loans that have hardly been used, and only as long
// as there are any.
func TestOften(t *testing.T) {
	w := newWire(t).start()
	often := func(want bool) {
		t.Helper()
		w.watch.mu.Lock()
		defer w.watch.mu.Unlock()
		if w.watch.often != want {
			t.Errorf("looks often: %t, want %t", w.watch.often, want)
		}
	}
	w.lend()
	often(true)
	w.watch.round(w.watch.timer)
	often(true)
	w.use(worthwhile)
	w.watch.round(w.watch.timer)
	often(false)
	w.lending.Return(&w.by)
	w.message(false) // the own goroutine reads
	w.lend()
	often(true)
}
