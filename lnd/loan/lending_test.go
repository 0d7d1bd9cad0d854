package loan

import (
	"testing"
	"time"
)

// TestReceive (LF-1): who has borrowed takes message after message.
func TestReceive(t *testing.T) {
	w := newWire(t).start()
	w.lend()
	if w.lending.Asked() {
		t.Error("the question is still open when it has been answered")
	}
	for range 50 {
		result := w.borrow()
		w.message(false)
		w.want(result, true)
		if s := w.lending.Snapshot(); s.State != Lent {
			t.Fatalf("%+v", s)
		}
	}
}

// TestEnds (LF-2): what ends a loan, and that the own goroutine reads afterwards, if there
// is anything to read.
func TestEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(w *wire, result chan bool)
		over bool
	}{
		"something is left": {end: func(w *wire, result chan bool) {
			w.message(true)
			w.want(result, false)
		}},
		"an interruption, and Return": {end: func(w *wire, result chan bool) {
			w.by.waiting.Store(false)
			w.lending.Interrupt(&w.by)
			w.want(result, true)
			w.lending.Return(&w.by)
		}},
		"the source": {over: true, end: func(w *wire, result chan bool) {
			close(w.ended)
			w.want(result, false)
			w.done(w.over)
		}},
		"the source while nobody reads": {over: true, end: func(w *wire, result chan bool) {
			w.message(false)
			w.want(result, true)
			close(w.ended)
			w.done(w.over)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t).start()
			w.lend()
			tt.end(w, w.borrow())
			if w.lending.Receive(&w.by) {
				t.Error("Receive after the loan")
			}
			if !tt.over {
				w.message(false)
			}
			if s := w.lending.Snapshot(); s.State != Own {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestNotLent (LF-3): who has gone away, still waits or is refused by the source gets nothing.
func TestNotLent(t *testing.T) {
	for name, ask := range map[string]func(w *wire){
		"refused": func(w *wire) {
			w.refuses.Store(true)
			w.ask()
		},
		"withdrawn": func(w *wire) {
			w.by.waiting.Store(true)
			w.lending.Ask(&w.by)
			w.lending.Return(&w.by)
			w.message(false)
		},
		"it waits on": func(w *wire) {
			var other waiter
			other.waiting.Store(true)
			w.lending.Ask(&other)
			w.message(false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t).start()
			ask(w)
			w.message(false) // the own goroutine reads on
			if s := w.lending.Snapshot(); s.State != Own {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestUnused (LF-4): who does not come back loses the right, and has to ask more than once
// for the next, the more often the more loans were lost and too little used before.
func TestUnused(t *testing.T) {
	for name, tt := range map[string]struct{ uses, most int }{
		"not used":   {0, maxUseless},
		"too little": {worthwhile - 1, maxUseless},
		"enough":     {worthwhile, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, refusals := newWire(t).start(), 0
			for n := range 3 {
				w.refused(refusals)
				w.lend()
				w.use(tt.uses)
				if !w.lending.look() { // it has just been used
					t.Fatal("no second look")
				}
				w.lending.look()
				w.await(func(s Snapshot) bool { return s.State == Own })
				refusals = probation << min(n, tt.most-1)
			}
			w.message(false)
		})
	}
}

// TestMakesUp: loans that are used long enough make up for some that were not.
func TestMakesUp(t *testing.T) {
	w := newWire(t).start()
	for n := range 2 {
		w.refused(probation * n)
		w.lend()
		w.lending.look()
		w.lending.look()
	}
	w.refused(2 * probation)
	w.lend()
	for n := range 2 {
		w.use(worthwhile - 1)
		if s := w.lending.Snapshot(); s.Useless != 2-n {
			t.Errorf("%+v, want %d useless", s, 2-n)
		}
		w.use(1)
	}
	if s := w.lending.Snapshot(); s.Useless != 0 {
		t.Errorf("%+v", s)
	}
}

// TestHandedBack: loans that end with what is left to the own goroutine become rarer
// only if they were of no use before.
func TestHandedBack(t *testing.T) {
	for name, tt := range map[string]struct{ uses, most int }{"at once": {0, maxUseless}, "later": {1, 1}} {
		t.Run(name, func(t *testing.T) {
			w, refusals := newWire(t).start(), 0
			for n := range 3 {
				w.refused(refusals)
				w.lend()
				w.use(tt.uses)
				result := w.borrow()
				w.message(true)
				w.want(result, false)
				refusals = probation << min(n, tt.most-1)
			}
			w.refused(refusals)
			w.lend()
		})
	}
}

// use has n messages received by who has the right.
func (w *wire) use(n int) {
	w.Helper()
	for range n {
		result := w.borrow()
		w.message(false)
		w.want(result, true)
	}
}

// refused asks n times in vain.
func (w *wire) refused(n int) {
	w.Helper()
	for range n {
		w.ask()
		w.await(func(s Snapshot) bool { return !s.Asked })
		if s := w.lending.Snapshot(); s.State != Own {
			w.Fatalf("%+v", s)
		}
	}
}

// TestWatch (LF-5): an unused right comes back by itself, also from the next loan.
func TestWatch(t *testing.T) {
	w := newWire(t)
	w.watch.Period = 0
	w.start()
	for range 2 {
		w.lending.Forgive()
		w.ask()
		w.await(func(s Snapshot) bool { return s.Useless == 1 && s.State == Own })
		w.message(false)
	}
}

// TestPatience (LF-6): who comes back late loses the right, also after the first time; who
// waits in Receive may stay.
func TestPatience(t *testing.T) {
	for name, late := range map[string]bool{"in time": false, "late": true} {
		for _, times := range []int{0, 3} {
			t.Run(name, func(t *testing.T) {
				w := newWire(t).start()
				clock := &w.clock
				w.lend()
				for range times {
					result := w.borrow()
					clock.now.Add(int64(time.Hour))
					w.message(false)
					w.want(result, true)
				}
				clock.now.Add(int64(Patience))
				if !late {
					result := w.borrow()
					w.message(false)
					w.want(result, true)
					return
				}
				clock.now.Add(1)
				w.by.waiting.Store(true)
				if w.lending.Receive(&w.by) {
					t.Error("Receive goes on")
				}
				w.refused(probation)
				w.lend()
			})
		}
	}
}

// TestWorks: a borrower that works on what it gets, each time for longer than Patience,
// gets no loan, and one that does so at times has to come back in time so often in a
// row as askers are refused.
func TestWorks(t *testing.T) {
	w := newWire(t).start()
	w.refuseAll()
	for range 4 * probation {
		w.refused(1)
		w.clock.now.Add(int64(Patience + 1))
	}
	w.refused(probation - 1)
	w.clock.now.Add(int64(Patience + 1))
	w.refused(probation)
	w.clock.now.Add(int64(Patience))
	w.lend()
}

// TestWorksMore: working too long costs as many refusals as the loans that were lost.
func TestWorksMore(t *testing.T) {
	w := newWire(t).start()
	for n := range 2 {
		w.refused(probation * n)
		w.lend()
		w.lending.look()
		w.lending.look()
	}
	w.refused(2*probation - 1)
	w.clock.now.Add(int64(Patience + 1))
	w.refused(2 * probation)
	w.lend()
}

// refuseAll has as many askers refused as when the source was new.
func (w *wire) refuseAll() {
	w.lending.mu.Lock()
	defer w.lending.mu.Unlock()
	w.lending.refuse = probation
}

// TestInterruptedInTime: a borrower that waited for long and is interrupted has not been
// away: the time since anything was read does not count.
func TestInterruptedInTime(t *testing.T) {
	w := newWire(t).start()
	w.lend()
	result := w.borrow()
	w.clock.now.Add(int64(time.Hour))
	w.readAt.Store(0)
	w.by.waiting.Store(false)
	w.lending.Interrupt(&w.by)
	w.want(result, true)
	if w.lending.Late() {
		t.Fatal("late at once")
	}
	result = w.borrow()
	w.message(false)
	w.want(result, true)
}

// TestRecall (LF-7): a right that lies there can be called back, which makes the next loan
// rarer only for who stays away; one that is used cannot.
func TestRecall(t *testing.T) {
	w := newWire(t)
	w.lending.Recall()
	w.start()
	w.lend()
	result := w.borrow()
	w.lending.Recall()
	w.message(false)
	w.want(result, true)
	for _, useless := range []int{0, 1} {
		w.lending.Recall()
		if s := w.lending.Snapshot(); s.State != Own || s.Useless != useless {
			t.Fatalf("%+v, want %d useless", s, useless)
		}
		w.message(false)
		if useless == 0 {
			w.lend()
			w.clock.now.Add(int64(time.Second))
		}
	}
}

// TestNotLeft (LF-8): a right that may not be left lying goes back to the own goroutine.
func TestNotLeft(t *testing.T) {
	w := newWire(t).start()
	w.lend()
	result := w.borrow()
	w.refuses.Store(true)
	w.message(false)
	w.want(result, false)
	w.message(false)
	if s := w.lending.Snapshot(); s.State != Own || s.Useless != 0 {
		t.Errorf("%+v", s)
	}
}
