package portals

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/machine"
)

// lender is a connection that lends its reading to who asks, and brings an
// event for each token of next.
type lender struct {
	q           *EQ
	next        chan *Event
	interrupted chan struct{}
	asked       bool
	lent        bool
	returned    int
}

func newLender() *lender {
	q := &EQ{table: new(Table), clock: machine.RealClock(), arrived: make(chan struct{}, 1), ring: make([]Event, 8)}
	return &lender{q: q, next: make(chan *Event), interrupted: make(chan struct{}, 1)}
}

// arrive brings an event by the connection's own goroutine.
func (l *lender) arrive(e *Event) {
	l.q.push(e, l)
	if l.asked && !l.q.Waiting() {
		l.asked, l.lent = false, true
	}
}

func (l *lender) Ask(lnd.Borrower) { l.asked = true }

func (l *lender) Return(lnd.Borrower) {
	l.asked, l.lent = false, false
	l.returned++
}

func (l *lender) Interrupt(lnd.Borrower) { l.interrupted <- struct{}{} }

func (l *lender) Receive(b lnd.Borrower) bool {
	for l.lent && b.Waiting() {
		select {
		case e := <-l.next:
			if e == nil {
				l.lent = false
				break
			}
			l.q.push(e, l)
			<-l.interrupted // by push, who cannot know that it is we
		case <-l.interrupted:
		}
	}
	return l.lent
}

// borrowed returns a queue whose waiter has borrowed l.
func borrowed(t *testing.T) *lender {
	t.Helper()
	l := newLender()
	for n := range 2 { // the first event tells the connection, the second lends
		done := l.wait(context.Background())
		synctest.Wait()
		l.arrive(&Event{HdrData: uint64(n)})
		if r := <-done; r.err != nil || r.e.HdrData != uint64(n) {
			t.Fatalf("event %d: %+v", n, r)
		}
	}
	if !l.lent {
		t.Fatal("not lent")
	}
	return l
}

type waited struct {
	e   Event
	err error
}

func (l *lender) wait(ctx context.Context) chan waited {
	done := make(chan waited, 1)
	go func() {
		e, err := l.q.Wait(ctx)
		done <- waited{e, err}
	}()
	return done
}

func TestWaitBorrows(t *testing.T) {
	other := newLender()
	for name, c := range map[string]func(t *testing.T, l *lender, done chan waited, cancel func()){
		"event by the borrowed connection": func(t *testing.T, l *lender, done chan waited, _ func()) {
			l.next <- &Event{HdrData: 7}
			if r := <-done; r.err != nil || r.e.HdrData != 7 || !l.lent {
				t.Errorf("%+v, lent %t", r, l.lent)
			}
		},
		"event from elsewhere": func(t *testing.T, l *lender, done chan waited, _ func()) {
			l.q.push(&Event{HdrData: 8}, nil)
			if r := <-done; r.err != nil || r.e.HdrData != 8 || !l.lent {
				t.Errorf("%+v, lent %t", r, l.lent)
			}
		},
		"event by another connection": func(t *testing.T, l *lender, done chan waited, _ func()) {
			l.q.push(&Event{HdrData: 9}, other)
			if r := <-done; r.err != nil || r.e.HdrData != 9 {
				t.Errorf("%+v", r)
			}
			done = l.wait(context.Background())
			synctest.Wait()
			if l.lent || !other.asked {
				t.Errorf("lent %t, the other asked %t", l.lent, other.asked)
			}
			l.q.push(&Event{}, nil)
			<-done
		},
		"the loan ends": func(t *testing.T, l *lender, done chan waited, _ func()) {
			l.next <- nil
			synctest.Wait()
			l.arrive(&Event{HdrData: 10})
			if r := <-done; r.err != nil || r.e.HdrData != 10 || !l.lent {
				t.Errorf("%+v, lent again %t", r, l.lent)
			}
		},
		"the context ends": func(t *testing.T, l *lender, done chan waited, cancel func()) {
			cancel()
			if r := <-done; !errors.Is(r.err, context.Canceled) || l.lent || l.returned != 1 {
				t.Errorf("%+v, lent %t, returned %d times", r, l.lent, l.returned)
			}
		},
		"the queue is freed": func(t *testing.T, l *lender, done chan waited, _ func()) {
			if err := l.q.Free(); err != nil {
				t.Error(err)
			}
			if r := <-done; !errors.Is(r.err, syscall.ENOENT) || l.lent || l.returned != 1 {
				t.Errorf("%+v, lent %t, returned %d times", r, l.lent, l.returned)
			}
			l.wantLetGo(t)
		},
		"the table is closed": func(t *testing.T, l *lender, done chan waited, _ func()) {
			l.q.close()
			if r := <-done; !errors.Is(r.err, syscall.ESHUTDOWN) || l.lent || l.returned != 1 {
				t.Errorf("%+v, lent %t, returned %d times", r, l.lent, l.returned)
			}
			l.wantLetGo(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := borrowed(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := l.wait(ctx)
				synctest.Wait()
				c(t, l, done, cancel)
			})
		})
	}
}

// TestFreeGivesBack: who frees a queue between two waits keeps neither the right nor
// the memory of the connection.
func TestFreeGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := borrowed(t)
		if err := l.q.Free(); err != nil || l.lent {
			t.Errorf("%v, lent %t", err, l.lent)
		}
		l.wantLetGo(t)
	})
}

// TestCloseGivesBack: so does a table that is closed.
func TestCloseGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := borrowed(t)
		l.q.close()
		if l.lent {
			t.Error("lent")
		}
		l.wantLetGo(t)
	})
}

func (l *lender) wantLetGo(t *testing.T) {
	t.Helper()
	if b := &l.q.borrowing; b.latest != nil || b.asked != nil {
		t.Errorf("%+v", b)
	}
}

// TestPollGivesBack: who waits in another way does not read.
func TestPollGivesBack(t *testing.T) {
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
				l := borrowed(t)
				if ok, err := poll(l.q); ok || err != nil || l.lent {
					t.Errorf("ok %t, %v, lent %t", ok, err, l.lent)
				}
			})
		})
	}
}
