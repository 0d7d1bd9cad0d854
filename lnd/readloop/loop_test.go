package readloop

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestReceive (LF-1): a follower that has the loop takes message after message.
func TestReceive(t *testing.T) {
	spec.Covers(t, "LF-1")
	w := newSource(t).start()
	w.handOver()
	if w.loop.Requested() {
		t.Error("the request is still open after the hand-over")
	}
	for range 50 {
		result := w.receive()
		w.message(false)
		w.want(result, true)
		if s := w.loop.Snapshot(); s.State != Idle {
			t.Fatalf("%+v", s)
		}
	}
}

// TestEnds (LF-2): each of these events ends a hand-over. Then the connection's own goroutine reads, if
// there is anything to read.
func TestEnds(t *testing.T) {
	spec.Covers(t, "LF-2")
	for name, tt := range map[string]struct {
		end  func(w *testSource, result chan bool)
		over bool
	}{
		"something is left": {end: func(w *testSource, result chan bool) {
			w.message(true)
			w.want(result, false)
		}},
		"an interruption, and Return": {end: func(w *testSource, result chan bool) {
			w.by.waiting.Store(false)
			w.loop.Interrupt(&w.by)
			w.want(result, true)
			w.loop.Return(&w.by)
		}},
		"the source": {over: true, end: func(w *testSource, result chan bool) {
			close(w.ended)
			w.want(result, false)
			w.done(w.over)
		}},
		"the source while the loop is idle": {over: true, end: func(w *testSource, result chan bool) {
			w.message(false)
			w.want(result, true)
			close(w.ended)
			w.done(w.over)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSource(t).start()
			w.handOver()
			tt.end(w, w.receive())
			if w.loop.Receive(&w.by) {
				t.Error("Receive after the end of the hand-over")
			}
			if !tt.over {
				w.message(false)
			}
			if s := w.loop.Snapshot(); s.State != Own {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestNotHandedOver (LF-3): a follower does not get the loop in three cases: the source refuses,
// the follower has withdrawn its request, or it still waits for a message.
func TestNotHandedOver(t *testing.T) {
	spec.Covers(t, "LF-3")
	for name, request := range map[string]func(w *testSource){
		"refused": func(w *testSource) {
			w.refuses.Store(true)
			w.request()
		},
		"withdrawn": func(w *testSource) {
			w.by.waiting.Store(true)
			w.loop.Request(&w.by)
			w.loop.Return(&w.by)
			w.message(false)
		},
		"it waits on": func(w *testSource) {
			var other waiter
			other.waiting.Store(true)
			w.loop.Request(&other)
			w.message(false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSource(t).start()
			request(w)
			w.message(false) // the connection's own goroutine receives the message and reads on
			if s := w.loop.Snapshot(); s.State != Own {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestUnused (LF-4): a follower that does not come back loses the loop, and its next
// requests are refused. Each further hand-over that was used too little doubles the number of
// refusals, up to a bound.
func TestUnused(t *testing.T) {
	spec.Covers(t, "LF-4")
	for name, tt := range map[string]struct{ uses, most int }{
		"not used":   {0, maxDelays},
		"too little": {provenUses - 1, maxDelays},
		"enough":     {provenUses, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, refusals := newSource(t).start(), 0
			for n := range 3 {
				w.refused(refusals)
				w.handOver()
				w.use(tt.uses)
				if !w.loop.check() { // a check just after the loop was used keeps it with the follower
					t.Fatal("no second check")
				}
				w.loop.check()
				w.await(func(s Snapshot) bool { return s.State == Own })
				refusals = minRefusals << min(n, tt.most-1)
			}
			w.message(false)
		})
	}
}

// TestMakesUp: each hand-over after which the follower lets a message wait adds 1 to Delays, which
// makes hand-overs rarer. In a later hand-over, every provenUses calls of Receive subtract 1 again.
func TestMakesUp(t *testing.T) {
	w := newSource(t).start()
	for n := range 2 {
		w.refused(minRefusals * n)
		w.handOver()
		w.loop.check()
		w.loop.check()
	}
	w.refused(2 * minRefusals)
	w.handOver()
	for n := range 2 {
		w.use(provenUses - 1)
		if s := w.loop.Snapshot(); s.Delays != 2-n {
			t.Errorf("%+v, want %d unused", s, 2-n)
		}
		w.use(1)
	}
	if s := w.loop.Snapshot(); s.Delays != 0 {
		t.Errorf("%+v", s)
	}
}

// TestHandedBack: a hand-over can end because work is left to the connection's own goroutine. That makes
// later hand-overs rarer only if the follower has received no message before.
func TestHandedBack(t *testing.T) {
	for name, uses := range map[string]int{"at once": 0, "later": 1} {
		t.Run(name, func(t *testing.T) {
			w, refusals := newSource(t).start(), 0
			for n := range 3 {
				w.refused(refusals)
				w.handOver()
				w.use(uses)
				result := w.receive()
				w.message(true)
				w.want(result, false)
				if uses == 0 {
					refusals = minRefusals << n
				}
			}
			w.refused(refusals)
			w.handOver()
		})
	}
}

// use makes the follower receive n messages.
func (w *testSource) use(n int) {
	w.Helper()
	for range n {
		result := w.receive()
		w.message(false)
		w.want(result, true)
	}
}

// refused makes n requests, each of which is refused.
func (w *testSource) refused(n int) {
	w.Helper()
	for range n {
		w.request()
		w.await(func(s Snapshot) bool { return !s.Requested })
		if s := w.loop.Snapshot(); s.State != Own {
			w.Fatalf("%+v", s)
		}
	}
}

// TestWatchdog (LF-5): the watchdog takes back a loop whose follower lets a message wait, and does
// so again after the next hand-over.
func TestWatchdog(t *testing.T) {
	spec.Covers(t, "LF-5")
	w := newSource(t)
	w.watchdog.Period = 0
	w.start()
	for range 2 {
		w.loop.ForgetHistory()
		w.request()
		w.await(func(s Snapshot) bool { return s.Delays == 1 && s.State == Own })
		w.message(false)
	}
}

// TestMaxAbsence (LF-6): a follower that stays away for long loses the loop, even if no message
// comes. No message was delayed then, so the follower's next request is granted. A follower that is
// blocked in Receive keeps the loop.
func TestMaxAbsence(t *testing.T) {
	spec.Covers(t, "LF-6")
	w := newSource(t).start()
	w.nothing.Store(true)
	w.handOver()
	result := w.receive()
	w.clock.now.Add(int64(time.Hour))
	if w.loop.check() {
		t.Error("a check of a follower in Receive")
	}
	w.message(false)
	w.want(result, true)
	w.clock.now.Add(int64(maxIdle * MaxAbsence))
	for range 2 {
		if !w.loop.check() {
			t.Fatal("taken back too early")
		}
	}
	w.clock.now.Add(1)
	if w.loop.check() || w.loop.Snapshot().State != Own {
		t.Fatal("not taken back")
	}
	if w.loop.Receive(&w.by) {
		t.Error("Receive goes on")
	}
	w.handOver()
	if s := w.loop.Snapshot(); s.HandOvers != 2 || s.TakenBack != 1 || s.Delays != 0 || s.Refused != 0 {
		t.Errorf("%+v", s)
	}
}

// TestUnreadTwice: a message that is unread at one check may have just come. It counts as delayed
// only if the next check finds a message unread too, without a Receive in between.
func TestUnreadTwice(t *testing.T) {
	w := newSource(t).start()
	w.handOver()
	for n, nothing := range []bool{false, true, false} {
		w.nothing.Store(nothing)
		if !w.loop.check() {
			t.Fatalf("taken back by check %d", n)
		}
	}
	w.use(1)
	if !w.loop.check() || w.loop.check() {
		t.Error("not taken back by the second check after Receive")
	}
	if s := w.loop.Snapshot(); s.State != Own || s.Delays != 1 {
		t.Errorf("%+v", s)
	}
}

// TestInterruptedInTime: a follower that was blocked in Receive for long and is interrupted is not
// late. Its absence begins at the interruption, not when the source last read something.
func TestInterruptedInTime(t *testing.T) {
	w := newSource(t).start()
	w.handOver()
	result := w.receive()
	w.clock.now.Add(int64(time.Hour))
	w.readAt.Store(0)
	w.by.waiting.Store(false)
	w.loop.Interrupt(&w.by)
	w.want(result, true)
	if w.loop.Late() {
		t.Fatal("late at once")
	}
	result = w.receive()
	w.message(false)
	w.want(result, true)
}

// TestRecall (LF-7): Recall takes an idle loop back, and counts a delay only if the follower is
// late. It has no effect on a loop that a goroutine runs.
func TestRecall(t *testing.T) {
	spec.Covers(t, "LF-7")
	w := newSource(t)
	w.loop.Recall()
	w.start()
	w.handOver()
	result := w.receive()
	w.loop.Recall()
	w.message(false)
	w.want(result, true)
	for _, unused := range []int{0, 1} {
		w.loop.Recall()
		if s := w.loop.Snapshot(); s.State != Own || s.Delays != unused {
			t.Fatalf("%+v, want %d unused", s, unused)
		}
		w.message(false)
		if unused == 0 {
			w.handOver()
			w.clock.now.Add(int64(time.Second))
		}
	}
}

// TestNotIdle (LF-8): when the source no longer lets the loop be idle, the loop goes back to the
// connection's own goroutine.
func TestNotIdle(t *testing.T) {
	spec.Covers(t, "LF-8")
	w := newSource(t).start()
	w.handOver()
	result := w.receive()
	w.refuses.Store(true)
	w.message(false)
	w.want(result, false)
	w.message(false)
	if s := w.loop.Snapshot(); s.State != Own || s.Delays != 0 {
		t.Errorf("%+v", s)
	}
}
