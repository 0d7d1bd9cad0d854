package readloop

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnet/machine"
)

const timeout = time.Minute

// waiter is a follower that waits until the next message is taken.
type waiter struct{ waiting atomic.Bool }

func (w *waiter) Waiting() bool { return w.waiting.Load() }

// testClock is a clock whose time a test sets.
type testClock struct {
	machine.Clock
	now atomic.Int64
}

func (h *testClock) Now() time.Duration { return time.Duration(h.now.Load()) }

// testSource is a source whose loop a goroutine of the test owns. Every message ends the wait of the
// follower in the field by.
type testSource struct {
	*testing.T
	loop     Loop
	watchdog Watchdog
	clock    testClock
	readAt   atomic.Int64
	by       waiter
	come     chan bool // each value makes a message arrive; true: the connection's own goroutine has to parse the rest of it
	wake     chan struct{}
	ended    chan struct{}
	over     chan struct{} // closed when the connection's own goroutine has ended
	taken    chan struct{}
	rest     bool // result of the last Await; used only by the goroutine that runs the loop
	refuses  atomic.Bool
	nothing  atomic.Bool // nothing lies unread
}

func newSource(t *testing.T) *testSource {
	w := &testSource{
		T: t, come: make(chan bool), wake: make(chan struct{}, 1), ended: make(chan struct{}),
		over: make(chan struct{}), taken: make(chan struct{}, 1),
	}
	w.watchdog.Period = time.Hour
	w.loop.Init(w, &w.watchdog, &w.clock)
	w.loop.ForgetHistory()
	return w
}

// start begins the connection's own goroutine, which ends with the test.
func (w *testSource) start() *testSource {
	go func() {
		defer close(w.over)
		for w.Await() {
			w.Take()
			if w.loop.Requested() {
				w.loop.HandOver(w.ended)
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

func (w *testSource) MayHandOver() bool { return !w.refuses.Load() }

func (w *testSource) Await() bool {
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

func (w *testSource) Take() bool {
	rest := w.rest
	w.rest = false
	return !rest
}

func (w *testSource) Unread() bool { return !w.nothing.Load() }

func (w *testSource) ReadAt() time.Duration { return time.Duration(w.readAt.Load()) }

func (w *testSource) SetReadDeadline(t time.Time) error {
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

// message makes a message arrive, and waits until the goroutine that reads has taken it.
func (w *testSource) message(rest bool) {
	w.Helper()
	select {
	case w.come <- rest:
	case <-time.After(timeout):
		w.Fatal("no goroutine reads")
	}
	w.done(w.taken)
}

func (w *testSource) done(c <-chan struct{}) {
	w.Helper()
	select {
	case <-c:
	case <-time.After(timeout):
		w.Fatal("it does not end")
	}
}

// request requests the loop, and makes a message arrive that ends the wait.
func (w *testSource) request() {
	w.Helper()
	w.by.waiting.Store(true)
	w.loop.Request(&w.by)
	w.message(false)
}

// handOver hands the loop over to the follower w.by.
func (w *testSource) handOver() {
	w.Helper()
	w.request()
	w.await(func(s Snapshot) bool { return s.State == Idle })
}

// receive makes a goroutine block in Receive.
func (w *testSource) receive() (result chan bool) {
	w.Helper()
	w.by.waiting.Store(true)
	result = make(chan bool, 1)
	go func() { result <- w.loop.Receive(&w.by) }()
	w.await(func(s Snapshot) bool { return s.State == Taken && s.Blocked })
	return result
}

func (w *testSource) await(so func(s Snapshot) bool) {
	w.Helper()
	for begin := time.Now(); !so(w.loop.Snapshot()); runtime.Gosched() {
		if time.Since(begin) > timeout {
			w.Fatalf("%+v", w.loop.Snapshot())
		}
	}
}

func (w *testSource) want(result chan bool, want bool) {
	w.Helper()
	select {
	case got := <-result:
		if got != want {
			w.Fatalf("Receive = %t, want %t", got, want)
		}
	case <-time.After(timeout):
		w.Fatal("Receive does not end")
	}
}
