package loan

import (
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnet/machine"
)

// TestReceive: who has borrowed takes message after message.
func TestReceive(t *testing.T) {
	w := newWire(t).start()
	w.lend()
	for range 50 {
		result := w.borrow()
		w.message(false)
		w.want(result, true)
		if s := w.lending.Snapshot(); s.State != Lent {
			t.Fatalf("%+v", s)
		}
	}
}

// TestEnds: what ends a loan, and that the own goroutine reads afterwards, if there
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

// TestNotLent: who has gone away, still waits or is refused by the source gets nothing.
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

// TestUnused: who does not come back loses the right, and has to ask more than once
// for the next, the more often the more loans were of no use.
func TestUnused(t *testing.T) {
	w := newWire(t).start()
	refusals := 0
	for n := range 3 {
		w.refused(refusals)
		w.lend()
		if !w.lending.look() { // it has just begun
			t.Fatal("no second look")
		}
		w.lending.look()
		w.await(func(s Snapshot) bool { return s.State == Own })
		refusals = probation << n
	}
	w.message(false)
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

// TestWatch: an unused right comes back by itself.
func TestWatch(t *testing.T) {
	w := newWire(t)
	w.watch.Period = 0
	w.start()
	w.ask()
	w.await(func(s Snapshot) bool { return s.Useless == 1 })
	w.message(false)
}

// hands is a clock that a test sets.
type hands struct {
	machine.Clock
	now atomic.Int64
}

func (h *hands) Now() time.Duration { return time.Duration(h.now.Load()) }

// TestPatience: who comes back late loses the right, also after the first time; who
// waits in Receive may stay.
func TestPatience(t *testing.T) {
	for name, late := range map[string]bool{"in time": false, "late": true} {
		for _, times := range []int{0, 3} {
			t.Run(name, func(t *testing.T) {
				w, clock := newWire(t), new(hands)
				w.lending.SetPatience(clock, time.Millisecond)
				w.start()
				w.lend()
				for range times {
					result := w.borrow()
					clock.now.Add(int64(time.Hour))
					w.message(false)
					w.want(result, true)
				}
				clock.now.Add(int64(time.Millisecond))
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
