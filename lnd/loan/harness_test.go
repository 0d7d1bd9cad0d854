package loan

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnet/machine"
)

const patient = 20 * time.Second

// waiter is a borrower: somebody who waits until the next message is taken.
type waiter struct{ waiting atomic.Bool }

func (w *waiter) Waiting() bool { return w.waiting.Load() }

// hands is a clock that a test sets.
type hands struct {
	machine.Clock
	now atomic.Int64
}

func (h *hands) Now() time.Duration { return time.Duration(h.now.Load()) }

// wire is a source with a goroutine of its own. Every message ends the waiting of by.
type wire struct {
	*testing.T
	lending Lending
	watch   Watch
	clock   hands
	readAt  atomic.Int64
	by      waiter
	come    chan bool // true: leave the rest to the own goroutine
	wake    chan struct{}
	ended   chan struct{}
	over    chan struct{} // the own goroutine is
	taken   chan struct{}
	rest    bool // of what has come; owned by who has the right
	refuses atomic.Bool
}

func newWire(t *testing.T) *wire {
	w := &wire{
		T: t, come: make(chan bool), wake: make(chan struct{}, 1), ended: make(chan struct{}),
		over: make(chan struct{}), taken: make(chan struct{}, 1),
	}
	w.watch.Period = time.Hour
	w.lending.Init(w, &w.watch, &w.clock)
	w.lending.Forgive()
	return w
}

// start begins the own goroutine, which ends with the test.
func (w *wire) start() *wire {
	go func() {
		defer close(w.over)
		for w.Await() {
			w.Take()
			if w.lending.Asked() {
				w.lending.Lend(w.ended)
			}
		}
	}()
	w.Cleanup(func() {
		select {
		case <-w.ended:
		default:
			close(w.ended)
		}
		w.done(w.over)
	})
	return w
}

func (w *wire) Lendable() bool { return !w.refuses.Load() }

func (w *wire) Await() bool {
	select {
	case w.rest = <-w.come:
		w.readAt.Store(int64(w.clock.Now()))
		w.by.waiting.Store(false)
		w.taken <- struct{}{}
		return true
	case <-w.wake:
		return true
	case <-w.ended:
		return false
	}
}

func (w *wire) Take() bool {
	rest := w.rest
	w.rest = false
	return !rest
}

func (w *wire) ReadAt() time.Duration { return time.Duration(w.readAt.Load()) }

func (w *wire) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		select {
		case <-w.wake:
		default:
		}
		return nil
	}
	w.wake <- struct{}{}
	return nil
}

// message has one come and be taken, by whoever reads.
func (w *wire) message(rest bool) {
	w.Helper()
	select {
	case w.come <- rest:
	case <-time.After(patient):
		w.Fatal("nobody reads")
	}
	w.done(w.taken)
}

func (w *wire) done(c <-chan struct{}) {
	w.Helper()
	select {
	case <-c:
	case <-time.After(patient):
		w.Fatal("it does not end")
	}
}

// ask asks, and has a message come that ends the waiting.
func (w *wire) ask() {
	w.Helper()
	w.by.waiting.Store(true)
	w.lending.Ask(&w.by)
	w.message(false)
}

// lend has the right lent.
func (w *wire) lend() {
	w.Helper()
	w.ask()
	w.await(func(s Snapshot) bool { return s.State == Lent })
}

// borrow has a goroutine wait in Receive.
func (w *wire) borrow() (result chan bool) {
	w.Helper()
	w.by.waiting.Store(true)
	result = make(chan bool, 1)
	go func() { result <- w.lending.Receive(&w.by) }()
	w.await(func(s Snapshot) bool { return s.State == Borrowed && s.Waits })
	return result
}

func (w *wire) await(so func(s Snapshot) bool) {
	w.Helper()
	for begin := time.Now(); !so(w.lending.Snapshot()); runtime.Gosched() {
		if time.Since(begin) > patient {
			w.Fatalf("%+v", w.lending.Snapshot())
		}
	}
}

func (w *wire) want(result chan bool, want bool) {
	w.Helper()
	select {
	case got := <-result:
		if got != want {
			w.Fatalf("Receive = %t, want %t", got, want)
		}
	case <-time.After(patient):
		w.Fatal("Receive does not end")
	}
}
