package loan

import (
	"testing"
	"testing/synctest"
	"time"
)

// still is a source in the hands of a test: Await ends at once, and after so many
// messages the borrower waits no more.
type still struct {
	Lending
	watch     Watch
	clock     hands
	by, other waiter
	refuses   bool
	messages  int // until by waits no more
	awaits    int
	inAwait   func()
	deadlines []bool // calls of SetReadDeadline; true: in the past
}

func newStill(t *testing.T) *still {
	s := new(still)
	s.watch.Period = time.Hour
	s.Init(s, &s.watch, &s.clock)
	s.refuse = 0
	s.by.waiting.Store(true)
	t.Cleanup(func() {
		s.watch.mu.Lock()
		defer s.watch.mu.Unlock()
		if s.watch.timer != nil {
			s.watch.timer.close()
		}
	})
	return s
}

// lent has the right lent to by.
func (s *still) lent(t *testing.T) *still {
	t.Helper()
	if !s.Lending.watch.add(&s.Lending) {
		t.Skip("the system has no timer")
	}
	s.state, s.asks = Lent, &s.by
	s.since.Store(0)
	return s
}

func (s *still) Lendable() bool        { return !s.refuses }
func (s *still) Take() bool            { return true }
func (s *still) ReadAt() time.Duration { return s.clock.Now() }

func (s *still) Await() bool {
	s.awaits++
	if s.inAwait != nil {
		s.inAwait()
	}
	if s.messages--; s.messages <= 0 {
		s.by.waiting.Store(false)
	}
	return true
}

func (s *still) SetReadDeadline(t time.Time) error {
	s.deadlines = append(s.deadlines, !t.IsZero())
	return nil
}

// TestRightful: only the borrower that has the right uses it, returns it, or is
// interrupted, and nobody else takes its place.
func TestRightful(t *testing.T) {
	s := newStill(t).lent(t)
	if s.Receive(&s.other) || s.awaits > 0 || s.state != Lent {
		t.Errorf("another one receives; state %d", s.state)
	}
	s.Return(&s.other)
	s.Ask(&s.other)
	if s.state != Lent || s.asks != &s.by || s.Asked() {
		t.Errorf("another one has changed the loan: state %d", s.state)
	}
	s.inAwait = func() {
		s.inAwait = nil
		if s.Receive(&s.by) || s.Lies() {
			t.Error("two goroutines receive, or the right lies there while one does")
		}
		s.Recall()
		s.Return(&s.by)
		s.Interrupt(&s.other)
		if s.state != Borrowed || len(s.deadlines) > 0 {
			t.Errorf("state %d, deadlines %v", s.state, s.deadlines)
		}
	}
	if !s.Receive(&s.by) || s.awaits != 1 {
		t.Errorf("waited %d times, state %d", s.awaits, s.state)
	}
}

// TestInterrupt: an interruption ends one wait, once, and is forgotten then.
func TestInterrupt(t *testing.T) {
	s := newStill(t).lent(t)
	s.Interrupt(&s.by)
	if len(s.deadlines) > 0 {
		t.Error("a deadline while nobody waits")
	}
	s.inAwait = func() {
		s.Interrupt(&s.by)
		s.Interrupt(&s.by)
	}
	for range 2 {
		s.by.waiting.Store(true)
		s.deadlines = nil
		if !s.Receive(&s.by) || len(s.deadlines) != 2 || !s.deadlines[0] || s.deadlines[1] {
			t.Errorf("deadlines in the past: %v, want one, and then none any more", s.deadlines)
		}
		s.Interrupt(&s.by)
		if len(s.deadlines) != 2 {
			t.Error("a deadline after Receive")
		}
	}
}

// TestWaits: Receive waits in the source while the borrower waits, and not before.
func TestWaits(t *testing.T) {
	for _, messages := range []int{0, 1, 3} {
		s := newStill(t).lent(t)
		s.messages = messages
		s.by.waiting.Store(messages > 0)
		if !s.Receive(&s.by) || s.awaits != messages {
			t.Errorf("waited %d times for %d messages", s.awaits, messages)
		}
	}
}

// TestOwn: when a loan ends nothing of it is left.
func TestOwn(t *testing.T) {
	s := newStill(t).lent(t)
	s.Return(&s.by)
	if got := s.Snapshot(); got.State != Own || got.Asked || s.asks != nil || s.Lies() || s.Late() {
		t.Errorf("%+v, asks %v, lies %t", got, s.asks, s.Lies())
	}
	if len(s.back) != 1 || len(s.watch.loans) != 0 || s.watch.timer != nil {
		t.Errorf("%d times back, the watch has %d loans", len(s.back), len(s.watch.loans))
	}
}

// TestGranted: which questions count for a loan.
func TestGranted(t *testing.T) {
	s := newStill(t)
	ask := func(b *waiter, waits bool) bool {
		s.Ask(b)
		b.waiting.Store(waits)
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.granted()
	}
	s.refuse = 5
	if ask(&s.by, true) || s.refuse != 5 || !s.Asked() {
		t.Errorf("asks and still waits: %d to go, open %t", s.refuse, s.Asked())
	}
	s.refuses = true
	if ask(&s.by, false) || s.refuse != 5 || s.Asked() {
		t.Errorf("refused by the source: %d to go", s.refuse)
	}
	s.refuses = false
	s.clock.now.Add(int64(time.Hour))
	if ask(&s.other, false) || s.refuse != 4 {
		t.Errorf("after another borrower: %d to go, want 4", s.refuse)
	}
	s.refuse = 50
	s.clock.now.Add(int64(time.Hour))
	if ask(&s.other, false) || s.refuse != 49 {
		t.Errorf("late while many are refused anyway: %d to go, want 49", s.refuse)
	}
	for range 3 * maxUseless {
		s.regret()
	}
	if s.useless != maxUseless || s.refuse != probation<<(maxUseless-1) {
		t.Errorf("%d useless loans, %d to go", s.useless, s.refuse)
	}
}

// TestLateIsRegretted: a borrower that comes back late makes loans rarer.
func TestLateIsRegretted(t *testing.T) {
	s := newStill(t).lent(t)
	s.clock.now.Store(int64(Patience + 1))
	if s.Receive(&s.by) || s.useless != 1 || s.state != Own {
		t.Errorf("state %d, %d useless", s.state, s.useless)
	}
}

// TestResumed: the end of a Receive wakes the watch.
func TestResumed(t *testing.T) {
	s := newStill(t).lent(t)
	w := &s.watch
	s.state = Borrowed
	for range 2 {
		w.round(w.timer)
	}
	if !w.asleep.Load() {
		t.Fatal("the watch does not sleep while the borrower waits")
	}
	s.state, s.served = Lent, worthwhile
	if !s.Receive(&s.by) || w.asleep.Load() || !w.touched.Load() || w.often {
		t.Errorf("asleep %t, touched %t, often %t", w.asleep.Load(), w.touched.Load(), w.often)
	}
}

// TestReclaim: when the source ends its own goroutine waits for the borrower.
func TestReclaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Watch
		l := &Lending{state: Borrowed, watch: &w, back: make(chan struct{}, 1)}
		reclaimed := false
		go func() {
			l.reclaim()
			reclaimed = true
		}()
		synctest.Wait()
		if reclaimed {
			t.Error("the own goroutine goes on beside the borrower")
		}
		l.mu.Lock()
		l.own()
		l.mu.Unlock()
		synctest.Wait()
		if !reclaimed {
			t.Error("the own goroutine waits for ever")
		}
	})
}

// TestTwoLoans: the watch looks while any loan lies there, as often as the youngest of
// them needs.
func TestTwoLoans(t *testing.T) {
	first := newStill(t).lent(t)
	w := &first.watch
	second := newStill(t)
	second.Lending.watch = w
	second.lent(t)
	for _, tt := range []struct {
		served, other int
		often         bool
	}{{worthwhile, 0, true}, {0, worthwhile, true}, {worthwhile, worthwhile, false}} {
		first.served, second.served = tt.served, tt.other
		first.used, second.used = true, true
		w.round(w.timer)
		if w.often != tt.often {
			t.Errorf("after %d and %d uses: looks often %t", tt.served, tt.other, w.often)
		}
	}
	second.state = Borrowed
	for range 3 {
		first.used = true
		w.round(w.timer)
	}
	if w.asleep.Load() {
		t.Error("asleep while a loan may lie unused")
	}
	w.remove(&second.Lending)
	if second.lent(t); !w.often {
		t.Error("looks seldom at a loan that has just begun")
	}
}
