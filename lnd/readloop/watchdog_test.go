package readloop

import (
	"runtime"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestAddDuringCheck (LF-5): the watchdog also checks a loop that is added during a round, even if
// no other loop needs a further check.
func TestAddDuringCheck(t *testing.T) {
	spec.Covers(t, "LF-5")
	w := &Watchdog{Period: time.Hour}
	first, second := &Loop{state: Taken}, &Loop{state: Taken}
	add := func(l *Loop) {
		if !w.add(l) {
			t.Skip("the system has no timer")
		}
		t.Cleanup(func() { w.remove(l) })
	}
	add(first)
	w.settle(w.timer, first.check(), false) // the watchdog stays awake, because first was added after the last round
	round := w.all(nil)
	add(second)
	for _, l := range round {
		l.check()
	}
	w.settle(w.timer, false, false)
	if w.asleep.Load() {
		t.Error("asleep before it has checked the second loop")
	}
	w.settle(w.timer, false, false)
	if !w.asleep.Load() {
		t.Error("awake while no loop is idle")
	}
}

// TestOthersComeAndGo: hand-overs of other connections do not put off the check of an
// unused loop.
func TestOthersComeAndGo(t *testing.T) {
	const period = 50 * time.Millisecond // a goroutine is rarely kept from running for so long
	l := newSource(t).start()
	w := &l.watchdog
	l.handOver()
	w.mu.Lock()
	w.Period = period
	w.wake(true)
	w.mu.Unlock()
	other := &Loop{state: Taken}
	for begin := time.Now(); ; runtime.Gosched() {
		w.add(other)
		w.remove(other)
		if l.loop.Snapshot().State == Own {
			return
		}
		if time.Since(begin) > timeout {
			t.Fatal("the loop does not come back")
		}
	}
}

// TestShortPeriod: the watchdog checks with the short period only while there is a loop of
// an unproven follower.
func TestShortPeriod(t *testing.T) {
	w := newSource(t).start()
	short := func(want bool) {
		t.Helper()
		w.watchdog.mu.Lock()
		defer w.watchdog.mu.Unlock()
		if w.watchdog.short != want {
			t.Errorf("short period: %t, want %t", w.watchdog.short, want)
		}
	}
	w.handOver()
	short(true)
	w.watchdog.round(w.watchdog.timer)
	short(true)
	w.use(provenUses)
	w.watchdog.round(w.watchdog.timer)
	short(false)
	w.loop.Return(&w.by)
	w.message(false) // the goroutine of the connection receives the message
	w.handOver()
	short(true)
}
