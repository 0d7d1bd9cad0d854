package softroce

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd/loan"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
)

// waiter is a borrower: somebody who waits until the next message is handed to him.
type waiter struct{ waiting atomic.Bool }

func (w *waiter) Waiting() bool { return w.waiting.Load() }

// debt is two nodes over sockets of the system, of which the second is asked for the
// reading of its socket. Each message to it ends the waiting of by. No time passes on
// the clock: nobody probes, and nobody is late.
type debt struct {
	*testing.T
	nodes   [2]*testNode
	conns   [2]verbs.Conn
	lending *loan.Lending
	by      waiter
	inside  atomic.Int64 // messages that Receive brought
	sent    chan ibta.OpCode
}

func newDebt(t *testing.T) *debt {
	d := &debt{T: t, sent: make(chan ibta.OpCode, 10_000)}
	for i := range d.nodes {
		cfg := verbs.OpenConfig{Addr: loopbackAddr(), Clock: emulator.NewClock(), MTU: 1024, ReceiveBuffer: 4 << 20}
		if i == 1 {
			cfg.Tap = d.tap
		}
		d.nodes[i] = openNode(t, Open, cfg)
	}
	n := d.nodes[1]
	n.device.(*device).hub.port.(*udpPort).loans.Period = time.Hour
	d.lending = n.device.(verbs.Lending).Lender().(*loan.Lending)
	d.lending.Forgive()
	d.watch(n)
	n.listen()
	d.conns = connect(t, d.nodes[0], n)
	return d
}

// watch has the messages to n end the waiting.
func (d *debt) watch(n *testNode) {
	q := n.cq.(*cq)
	done := q.done
	q.done = func(batch []verbs.Completion) {
		if batch[0].Op == verbs.Receive {
			if called("(*Lending).Receive") {
				d.inside.Add(1)
			}
			d.by.waiting.Store(false)
		}
		done(batch)
	}
}

func (d *debt) tap(p verbs.TappedPacket) {
	if q, err := ibta.ParsePacket(p.Bytes); err == nil && p.Sent {
		d.sent <- q.OpCode
	}
}

// called reports whether a function of this name is on the caller's stack.
func called(name string) bool {
	pcs := make([]uintptr, 64)
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

// post has the first node send n messages.
func (d *debt) post(n int) {
	d.Helper()
	for range n {
		if err := d.conns[0].PostSend([]verbs.SendWR{send(1, make([]byte, 8))}); err != nil {
			d.Fatal(err)
		}
	}
}

func (d *debt) await(want loan.State) {
	d.Helper()
	for begin := time.Now(); ; runtime.Gosched() {
		s := d.lending.Snapshot()
		switch {
		case s.State == want && (want != loan.Borrowed || s.Waits):
			return
		case time.Since(begin) > wait:
			d.Fatalf("%+v, want state %d", s, want)
		}
	}
}

// ask asks, and has a message come.
func (d *debt) ask() {
	d.Helper()
	d.by.waiting.Store(true)
	d.lending.Ask(&d.by)
	d.post(1)
	take(d, d.nodes[1].got)
}

// lend has the reading lent.
func (d *debt) lend() {
	d.Helper()
	d.ask()
	d.await(loan.Lent)
}

// borrow has a goroutine wait in Receive.
func (d *debt) borrow() (result chan bool) {
	d.Helper()
	d.by.waiting.Store(true)
	result = make(chan bool, 1)
	go func() { result <- d.lending.Receive(&d.by) }()
	d.await(loan.Borrowed)
	return result
}

func (d *debt) want(result chan bool, want bool) {
	d.Helper()
	if got := take(d, result); got != want {
		d.Errorf("Receive = %t, want %t", got, want)
	}
}

// wantOwn sees that the port's own goroutine reads.
func (d *debt) wantOwn() {
	d.Helper()
	d.await(loan.Own)
	before := d.inside.Load()
	d.post(1)
	take(d, d.nodes[1].got)
	if d.inside.Load() != before {
		d.Error("Receive brings messages after the loan")
	}
}

// giveBack ends the loan, wherever it is.
func (d *debt) giveBack() {
	d.by.waiting.Store(false)
	d.lending.Interrupt(&d.by)
	for begin := time.Now(); d.lending.Snapshot().State != loan.Own; runtime.Gosched() {
		d.lending.Return(&d.by)
		if time.Since(begin) > wait {
			d.Fatal("the loan does not end")
		}
	}
}
