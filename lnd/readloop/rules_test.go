package readloop

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// manualSource is a source that a test controls: Await returns at once, and the test's follower
// stops waiting after a given number of messages.
type manualSource struct {
	Loop
	watchdog  Watchdog
	clock     testClock
	by, other waiter
	refuses   bool
	messages  int // number of messages until the follower in the field by stops waiting
	awaits    int
	inAwait   func()
	deadlines []bool // one value per SetReadDeadline; true: a deadline in the past
}

func newManual(t *testing.T) *manualSource {
	s := new(manualSource)
	s.watchdog.Period = time.Hour
	s.Init(s, &s.watchdog, &s.clock)
	s.refuse = 0
	s.by.waiting.Store(true)
	t.Cleanup(func() {
		s.watchdog.mu.Lock()
		defer s.watchdog.mu.Unlock()
		if s.watchdog.timer != nil {
			s.watchdog.timer.close()
		}
	})
	return s
}

// idle hands the loop over to the follower s.by.
func (s *manualSource) idle(t *testing.T) *manualSource {
	t.Helper()
	if !s.Loop.watchdog.add(&s.Loop) {
		t.Skip("the system has no timer")
	}
	s.follower = &s.by
	s.setIdle(0)
	return s
}

func (s *manualSource) MayHandOver() bool     { return !s.refuses }
func (s *manualSource) Take() bool            { return true }
func (s *manualSource) Unread() bool          { return true }
func (s *manualSource) ReadAt() time.Duration { return s.clock.Now() }

func (s *manualSource) Await() bool {
	s.awaits++
	if s.inAwait != nil {
		s.inAwait()
	}
	if s.messages--; s.messages <= 0 {
		s.by.waiting.Store(false)
	}
	return true
}

func (s *manualSource) SetReadDeadline(t time.Time) error {
	s.deadlines = append(s.deadlines, !t.IsZero())
	return nil
}

// TestFirstFollower: any follower can run an idle loop, not only the one to which it was handed
// over.
func TestFirstFollower(t *testing.T) {
	s := newManual(t).idle(t)
	s.other.waiting.Store(true)
	s.inAwait = func() {
		s.other.waiting.Store(false)
		s.Interrupt(&s.other)
	}
	if !s.Receive(&s.other) || s.awaits != 1 || s.state != Idle || len(s.deadlines) != 2 {
		t.Errorf("waited %d times, state %d, deadlines %v", s.awaits, s.state, s.deadlines)
	}
	if s.Return(&s.by); s.state != Idle {
		t.Error("the follower from before returns the loop")
	}
	if s.Return(&s.other); s.state != Own {
		t.Error("not returned")
	}
}

// TestOnlyTheFollower: only the follower that has the loop returns it or is interrupted, and
// no other follower runs it meanwhile.
func TestOnlyTheFollower(t *testing.T) {
	s := newManual(t).idle(t)
	s.Return(&s.other)
	s.Request(&s.other)
	if s.state != Idle || s.follower != &s.by || s.Requested() {
		t.Errorf("another follower has changed the hand-over: state %d", s.state)
	}
	s.inAwait = func() {
		s.inAwait = nil
		if s.Receive(&s.by) || s.Receive(&s.other) || s.Idle() {
			t.Error("two goroutines receive, or the loop is idle while one does")
		}
		s.Recall()
		s.Return(&s.by)
		s.Interrupt(&s.other)
		if s.state != Taken || len(s.deadlines) > 0 {
			t.Errorf("state %d, deadlines %v", s.state, s.deadlines)
		}
	}
	if !s.Receive(&s.by) || s.awaits != 1 {
		t.Errorf("waited %d times, state %d", s.awaits, s.state)
	}
}

// TestInterrupt: an interruption ends one Await, and does not last beyond it.
func TestInterrupt(t *testing.T) {
	s := newManual(t).idle(t)
	s.Interrupt(&s.by)
	if len(s.deadlines) > 0 {
		t.Error("a deadline while no goroutine is in Await")
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

// TestWaits: Receive blocks in the source only while the follower waits.
func TestWaits(t *testing.T) {
	for _, messages := range []int{0, 1, 3} {
		s := newManual(t).idle(t)
		s.messages = messages
		s.by.waiting.Store(messages > 0)
		if !s.Receive(&s.by) || s.awaits != messages {
			t.Errorf("waited %d times for %d messages", s.awaits, messages)
		}
	}
}

// TestOwn: the end of a hand-over resets all of its state.
func TestOwn(t *testing.T) {
	s := newManual(t).idle(t)
	s.Return(&s.by)
	if got := s.Snapshot(); got.State != Own || got.Requested || s.follower != nil || s.Idle() || s.Late() {
		t.Errorf("%+v, follower %v, idle %t", got, s.follower, s.Idle())
	}
	if len(s.back) != 1 || s.watched() != 0 {
		t.Errorf("%d times back, the watchdog has %d loops", len(s.back), s.watched())
	}
	for begin := time.Now(); s.watchdog.running(); runtime.Gosched() {
		if time.Since(begin) > timeout {
			t.Fatal("the watchdog runs without a loop")
		}
	}
}

// watched is the number of loops that the watchdog has.
func (s *manualSource) watched() int { return len(s.watchdog.all(nil)) }

func (w *Watchdog) running() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.timer != nil
}

// TestGrant: after a hand-over that has delayed a message, the loop refuses some requests of followers
// for the loop, as many as the field refuse says. The test checks which requests lower that number, and
// that each further delay doubles it, up to a bound.
func TestGrant(t *testing.T) {
	s := newManual(t)
	request := func(f *waiter, waits bool) bool {
		s.Request(f)
		f.waiting.Store(waits)
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.grant()
	}
	s.refuse = 5
	if request(&s.by, true) || s.refuse != 5 || !s.Requested() {
		t.Errorf("requested and still waits: %d to go, open %t", s.refuse, s.Requested())
	}
	s.refuses = true
	if request(&s.by, false) || s.refuse != 5 || s.Requested() {
		t.Errorf("refused by the source: %d to go", s.refuse)
	}
	s.refuses = false
	s.clock.now.Add(int64(time.Hour))
	if request(&s.other, false) || s.refuse != 4 || s.Snapshot().Refused != 1 {
		t.Errorf("after another follower: %d to go, want 4", s.refuse)
	}
	for range 3 * maxDelays {
		s.countDelay()
	}
	if s.delays != maxDelays || s.refuse != minRefusals<<(maxDelays-1) {
		t.Errorf("%d delays, %d to go", s.delays, s.refuse)
	}
}

// TestLate: a follower that comes back late keeps the loop, but its calls of Receive are counted
// anew from then on, so that it is unproven again.
func TestLate(t *testing.T) {
	for late, uses := range map[time.Duration]int{0: provenUses + 1, 1: 1} {
		s := newManual(t).idle(t)
		s.uses = provenUses
		s.clock.now.Store(int64(MaxAbsence + late))
		if !s.Receive(&s.by) || s.delays != 0 || s.uses != uses {
			t.Errorf("%d delays, %d uses, want %d", s.delays, s.uses, uses)
		}
	}
}

// TestResumed: the end of a Receive wakes the watchdog.
func TestResumed(t *testing.T) {
	s := newManual(t).idle(t)
	w := &s.watchdog
	s.state = Taken
	for range 2 {
		w.round(w.timer)
	}
	if !w.asleep.Load() {
		t.Fatal("the watchdog does not sleep while the follower is in Receive")
	}
	s.state, s.uses = Idle, provenUses
	if !s.Receive(&s.by) || w.asleep.Load() || !w.touched.Load() || w.short {
		t.Errorf("asleep %t, touched %t, short period %t", w.asleep.Load(), w.touched.Load(), w.short)
	}
}

// TestReclaim: when the source ends, the connection's own goroutine waits for the follower to return the
// loop.
func TestReclaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Watchdog
		l := &Loop{state: Taken, watchdog: &w, back: make(chan struct{}, 1)}
		reclaimed := false
		go func() {
			l.reclaim()
			reclaimed = true
		}()
		synctest.Wait()
		if reclaimed {
			t.Error("the own goroutine goes on beside the follower")
		}
		l.mu.Lock()
		l.setOwn()
		l.mu.Unlock()
		synctest.Wait()
		if !reclaimed {
			t.Error("the own goroutine waits for ever")
		}
	})
}

// TestTwoLoops: the watchdog checks while any loop is idle. It checks with the short period while
// the follower of any idle loop has made fewer than provenUses calls of Receive.
func TestTwoLoops(t *testing.T) {
	first := newManual(t).idle(t)
	w := &first.watchdog
	second := newManual(t)
	second.Loop.watchdog = w
	second.idle(t)
	for _, tt := range []struct {
		uses, other int
		short       bool
	}{{provenUses, 0, true}, {0, provenUses, true}, {provenUses, provenUses, false}} {
		first.uses, second.uses = tt.uses, tt.other
		first.unread, second.unread = false, false
		w.round(w.timer)
		if w.short != tt.short {
			t.Errorf("after %d and %d uses: short period %t", tt.uses, tt.other, w.short)
		}
	}
	second.state = Taken
	for range 3 {
		first.unread = false
		w.round(w.timer)
	}
	if w.asleep.Load() {
		t.Error("asleep while a loop is idle")
	}
	w.remove(&second.Loop)
	if second.idle(t); !w.short {
		t.Error("the long period after a hand-over")
	}
}
