package socklnd

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/loan"
	"ulnet/lnet/wire"
)

// reading is a borrower: somebody who waits until the next message is
// delivered.
type reading struct {
	waiting atomic.Bool
	inside  atomic.Int64 // deliveries that Receive made
}

func (b *reading) Waiting() bool { return b.waiting.Load() }

// debt is a pair of nodes, of which b has been asked for its connection by a
// borrower. Every delivery ends the borrower's waiting.
type debt struct {
	*testing.T
	a, b     *host
	by       *reading
	lender   *loan.Lending
	payloads int
}

func newDebt(t *testing.T) *debt {
	f := newTCPFabric()
	l := &debt{
		T: t, by: new(reading),
		a: start(t, "127.0.0.1", f.config(Config{})), b: start(t, "127.0.0.2", f.config(Config{})),
	}
	l.b.delivered = func(d *lnd.Delivery) {
		l.lender, _ = d.Lender.(*loan.Lending)
		if called("(*Lending).Receive") {
			l.by.inside.Add(1)
		}
		l.by.waiting.Store(false)
	}
	l.put(8)
	l.b.wantArrivals(l.payloads)
	l.a.awaitConns(3)
	l.lender.Forgive()
	l.lender.SetPatience(time.Hour)
	return l
}

// called reports whether a function of this name is on the caller's stack.
func called(name string) bool {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}

func (l *debt) put(size int) {
	l.payloads++
	l.a.put(l.b.id(), pattern(size))
}

// ask asks, and has a message come that makes the connection lend.
func (l *debt) ask() {
	l.Helper()
	l.by.waiting.Store(true)
	l.lender.Ask(l.by)
	l.put(8)
	l.b.wantArrivals(l.payloads)
	l.await(loan.Lent)
}

func (l *debt) await(want loan.State) {
	l.Helper()
	for begin := time.Now(); ; runtime.Gosched() {
		s := l.lender.Snapshot()
		switch {
		case s.State == want && (want != loan.Borrowed || s.Waits):
			return
		case time.Since(begin) > l.b.patience:
			l.Fatalf("state %d, want %d", s.State, want)
		}
	}
}

// borrow is ask, and begins a Receive.
func (l *debt) borrow() (result chan bool) {
	l.Helper()
	l.ask()
	l.by.waiting.Store(true)
	result = make(chan bool, 1)
	go func() { result <- l.lender.Receive(l.by) }()
	l.await(loan.Borrowed)
	return result
}

func (l *debt) wantEnd(result chan bool, want bool) {
	l.Helper()
	select {
	case got := <-result:
		if got != want {
			l.Errorf("Receive = %t, want %t", got, want)
		}
	case <-time.After(l.b.patience):
		l.Fatal("Receive does not end")
	}
}

// wantInside checks how many messages Receive has delivered.
func (l *debt) wantInside(n int64) {
	l.Helper()
	if got := l.by.inside.Load(); got != n {
		l.Errorf("Receive delivered %d messages, want %d", got, n)
	}
}

// TestLend: a borrower receives small messages in its own goroutine, call
// after call.
func TestLend(t *testing.T) {
	l := newDebt(t)
	l.b.ni.loans.Period = time.Hour
	result := l.borrow()
	for n := range int64(50) {
		l.put(8)
		l.wantEnd(result, true)
		l.wantInside(n + 1)
		l.by.waiting.Store(true)
		go func() { result <- l.lender.Receive(l.by) }()
	}
	l.put(200)
	l.wantEnd(result, true)
	l.b.wantArrivals(l.payloads)
	l.await(loan.Lent)
}

// TestLendEnds: what ends a loan and leaves the rest to the connection.
func TestLendEnds(t *testing.T) {
	for name, end := range map[string]func(l *debt, result chan bool){
		"a message that has not come whole": func(l *debt, result chan bool) {
			l.put(900) // still on CONTROL
			l.wantEnd(result, false)
			l.b.wantArrivals(l.payloads)
			l.wantInside(0)
		},
		"a held message": func(l *debt, result chan bool) {
			held := make(chan *lnd.Delivery, 1)
			l.b.parse = func(_ *host, d *lnd.Delivery) (lnd.Verdict, error) {
				takeAll(d)
				held <- d
				return lnd.Hold, nil
			}
			l.put(8)
			d := <-held
			l.wantEnd(result, false)
			l.b.parse = nil
			l.b.ni.Recv(d)
			l.b.wantArrivals(l.payloads)
			l.wantInside(0)
		},
		"a broken message": func(l *debt, result chan bool) {
			l.b.parse = func(*host, *lnd.Delivery) (lnd.Verdict, error) { return lnd.Accept, wire.ErrType }
			l.put(8)
			l.wantEnd(result, false)
			l.b.await("PeerDown", func() bool { return len(l.b.downs) == 1 })
			l.b.wantCount(BadMessage, 1)
		},
		"the peer": func(l *debt, result chan bool) {
			l.a.stop()
			l.wantEnd(result, false)
			l.b.await("PeerDown", func() bool { return len(l.b.downs) == 1 })
		},
		"this node": func(l *debt, result chan bool) {
			l.b.stop()
			l.wantEnd(result, false)
		},
		"an interruption, and Return": func(l *debt, result chan bool) {
			l.by.waiting.Store(false)
			l.lender.Interrupt(l.by)
			l.wantEnd(result, true)
			l.lender.Return(l.by)
			l.await(loan.Own)
			l.put(8)
			l.b.wantArrivals(l.payloads)
			l.wantInside(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newDebt(t)
			l.b.ni.loans.Period = time.Hour
			result := l.borrow()
			end(l, result)
			if l.lender.Receive(l.by) {
				t.Error("Receive after the loan")
			}
		})
	}
}

// TestLoanWatch: an unused right comes back by itself.
func TestLoanWatch(t *testing.T) {
	l := newDebt(t)
	l.by.waiting.Store(true)
	l.lender.Ask(l.by)
	l.put(8)
	l.b.wantArrivals(l.payloads)
	for begin := time.Now(); ; runtime.Gosched() {
		if l.lender.Snapshot().Useless == 1 {
			break
		}
		if time.Since(begin) > l.b.patience {
			t.Fatal("the right does not come back")
		}
	}
	l.put(8)
	l.b.wantArrivals(l.payloads)
	l.wantInside(0)
}

// TestLendStopped: connections end while they are lent and nobody reads.
func TestLendStopped(t *testing.T) {
	for name, stop := range map[string]func(l *debt){
		"the peer":  func(l *debt) { l.a.stop(); l.lender.Return(l.by) },
		"this node": func(l *debt) { l.b.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newDebt(t)
			l.b.ni.loans.Period = time.Hour
			l.ask()
			stop(l)
			l.await(loan.Own)
		})
	}
}

// TestLendWithdrawn: nothing is lent to who has taken the question back, or
// still waits.
func TestLendWithdrawn(t *testing.T) {
	l := newDebt(t)
	l.by.waiting.Store(true)
	l.lender.Ask(l.by)
	l.lender.Return(l.by)
	l.put(8)
	l.b.wantArrivals(l.payloads)
	l.b.delivered = func(*lnd.Delivery) {} // the borrower goes on waiting
	l.by.waiting.Store(true)
	l.lender.Ask(l.by)
	for range 3 { // the third is read after the second was seen to
		l.put(8)
		l.b.wantArrivals(l.payloads)
	}
	if l.lender.Receive(l.by) {
		t.Error("lent")
	}
}
