package portals

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/machine"
)

// readLoop is a connection that hands over its read loop on request, and delivers each event
// of next.
type readLoop struct {
	q           *EQ
	next        chan *Event
	interrupted chan struct{}
	requested   bool
	handed      bool
	returned    int
}

func newReadLoop() *readLoop {
	q := &EQ{table: new(Table), clock: machine.RealClock(), arrived: make(chan struct{}, 1), ring: make([]Event, 8)}
	return &readLoop{q: q, next: make(chan *Event), interrupted: make(chan struct{}, 1)}
}

// arrive delivers an event in the connection's own goroutine.
func (l *readLoop) arrive(e *Event) {
	l.q.push(e, l)
	if l.requested && !l.q.Waiting() {
		l.requested, l.handed = false, true
	}
}

func (l *readLoop) Request(lnd.Follower) { l.requested = true }

func (l *readLoop) Return(lnd.Follower) {
	l.requested, l.handed = false, false
	l.returned++
}

func (l *readLoop) Interrupt(lnd.Follower) { l.interrupted <- struct{}{} }

func (l *readLoop) Receive(f lnd.Follower) bool {
	for l.handed && f.Waiting() {
		select {
		case e := <-l.next:
			if e == nil {
				l.handed = false
				break
			}
			l.q.push(e, l)
			<-l.interrupted // push interrupts the read loop, although Receive itself has called push: take that interruption
		case <-l.interrupted:
		}
	}
	return l.handed
}

// handedOver returns a connection whose read loop was handed over to its queue.
func handedOver(t *testing.T) *readLoop {
	t.Helper()
	l := newReadLoop()
	// With the first event the queue requests the read loop, and with the second arrive hands it over. But if
	// the goroutine in Wait takes the event before arrive asks whether it waits, the hand-over needs a
	// further event.
	for n := 0; n < 2 || !l.handed && n < 100; n++ {
		done := l.wait(context.Background())
		synctest.Wait()
		l.arrive(&Event{HdrData: uint64(n)})
		if r := <-done; r.err != nil || r.e.HdrData != uint64(n) {
			t.Fatalf("event %d: %+v", n, r)
		}
	}
	if !l.handed {
		t.Fatal("not handed over")
	}
	return l
}

type waited struct {
	e   Event
	err error
}

func (l *readLoop) wait(ctx context.Context) chan waited {
	done := make(chan waited, 1)
	go func() {
		e, err := l.q.Wait(ctx)
		done <- waited{e, err}
	}()
	return done
}

func TestWaitTakesOver(t *testing.T) {
	other := newReadLoop()
	for name, c := range map[string]func(t *testing.T, l *readLoop, done chan waited, cancel func()){
		"event by the connection": func(t *testing.T, l *readLoop, done chan waited, _ func()) {
			l.next <- &Event{HdrData: 7}
			if r := <-done; r.err != nil || r.e.HdrData != 7 || !l.handed {
				t.Errorf("%+v, handed over %t", r, l.handed)
			}
		},
		"event from elsewhere": func(t *testing.T, l *readLoop, done chan waited, _ func()) {
			l.q.push(&Event{HdrData: 8}, nil)
			if r := <-done; r.err != nil || r.e.HdrData != 8 || !l.handed {
				t.Errorf("%+v, handed over %t", r, l.handed)
			}
		},
		"events by another connection": func(t *testing.T, l *readLoop, done chan waited, _ func()) {
			for n, from := range []*readLoop{other, l, other, other} { // only two events in a row from another connection move the queue to it
				l.q.push(&Event{HdrData: 9}, from)
				if r := <-done; r.err != nil || r.e.HdrData != 9 {
					t.Errorf("%+v", r)
				}
				done = l.wait(context.Background())
				synctest.Wait()
				if moved := n == 3; l.handed == moved || other.requested != moved {
					t.Errorf("after event %d: handed over %t, of the other requested %t", n, l.handed, other.requested)
				}
			}
			l.q.push(&Event{}, nil)
			<-done
		},
		"the hand-over ends": func(t *testing.T, l *readLoop, done chan waited, _ func()) {
			l.next <- nil
			synctest.Wait()
			l.arrive(&Event{HdrData: 10})
			if r := <-done; r.err != nil || r.e.HdrData != 10 || !l.handed {
				t.Errorf("%+v, handed over again %t", r, l.handed)
			}
		},
		"the context ends": func(t *testing.T, l *readLoop, done chan waited, cancel func()) {
			cancel()
			if r := <-done; !errors.Is(r.err, context.Canceled) || l.handed || l.returned != 1 {
				t.Errorf("%+v, handed over %t, returned %d times", r, l.handed, l.returned)
			}
		},
		"the queue is freed": func(t *testing.T, l *readLoop, done chan waited, _ func()) {
			if err := l.q.Free(); err != nil {
				t.Error(err)
			}
			if r := <-done; !errors.Is(r.err, syscall.ENOENT) || l.handed || l.returned != 1 {
				t.Errorf("%+v, handed over %t, returned %d times", r, l.handed, l.returned)
			}
			l.wantReleased(t)
		},
		"the table is closed": func(t *testing.T, l *readLoop, done chan waited, _ func()) {
			l.q.close()
			if r := <-done; !errors.Is(r.err, syscall.ESHUTDOWN) || l.handed || l.returned != 1 {
				t.Errorf("%+v, handed over %t, returned %d times", r, l.handed, l.returned)
			}
			l.wantReleased(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := handedOver(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := l.wait(ctx)
				synctest.Wait()
				c(t, l, done, cancel)
			})
		})
	}
}

// TestWaitersOfOneQueue: two goroutines wait in one queue, and one of them runs the read loop. When it has
// got its event, the other one runs the loop.
func TestWaitersOfOneQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := handedOver(t)
		first, second := l.wait(t.Context()), l.wait(t.Context())
		synctest.Wait()
		for range 2 {
			select {
			case l.next <- new(Event):
			case <-time.After(time.Second):
				t.Fatal("no goroutine receives")
			}
			synctest.Wait()
		}
		for _, done := range []chan waited{first, second} {
			if r := <-done; r.err != nil {
				t.Error(r.err)
			}
		}
	})
}

// TestFreeReturnsLoop: a queue that is freed between two waits returns the read loop, and
// keeps no reference to the connection.
func TestFreeReturnsLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := handedOver(t)
		if err := l.q.Free(); err != nil || l.handed {
			t.Errorf("%v, handed over %t", err, l.handed)
		}
		l.wantReleased(t)
	})
}

// TestCloseReturnsLoop: the queue of a table that is closed gives back the read loop that it has.
func TestCloseReturnsLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := handedOver(t)
		l.q.close()
		if l.handed {
			t.Error("still handed over")
		}
		l.wantReleased(t)
	})
}

func (l *readLoop) wantReleased(t *testing.T) {
	t.Helper()
	if b := &l.q.follower; b.latest != nil || b.requested != nil {
		t.Errorf("%+v", b)
	}
}

// TestPollReturnsLoop: Poll and PollEQs return the read loop, because they do not run it.
func TestPollReturnsLoop(t *testing.T) {
	table := New(lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()}))
	for name, poll := range map[string]func(q *EQ) (ok bool, err error){
		"Poll": func(q *EQ) (ok bool, err error) {
			_, ok, err = q.Poll(1)
			return ok, err
		},
		"PollEQs": func(q *EQ) (ok bool, err error) {
			_, _, ok, err = table.PollEQs([]*EQ{q}, 1)
			return ok, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := handedOver(t)
				if ok, err := poll(l.q); ok || err != nil || l.handed {
					t.Errorf("ok %t, %v, handed over %t", ok, err, l.handed)
				}
			})
		})
	}
}
