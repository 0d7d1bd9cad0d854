package softroce

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd/readloop"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
)

// waiter is a follower that waits until the next message is delivered.
type waiter struct{ waiting atomic.Bool }

func (w *waiter) Waiting() bool { return w.waiting.Load() }

// readLoopPair is two nodes over sockets of the operating system; by is a follower of the second
// node's read loop. Each message to the second node ends the follower's wait. No time passes on the
// clock: no node probes, and the follower is never late.
type readLoopPair struct {
	*testing.T
	nodes  [2]*testNode
	conns  [2]verbs.Conn
	loop   *readloop.Loop
	by     waiter
	inside atomic.Int64 // number of messages that Receive delivered
	sent   chan ibta.OpCode
}

func newReadLoopPair(t *testing.T) *readLoopPair {
	d := &readLoopPair{T: t, sent: make(chan ibta.OpCode, 10_000)}
	for i := range d.nodes {
		cfg := verbs.OpenConfig{Addr: loopbackAddr(), Clock: emulator.NewClock(), MTU: 1024, ReceiveBuffer: 4 << 20}
		if i == 1 {
			cfg.Tap = d.tap
		}
		d.nodes[i] = openNode(t, Open, cfg)
	}
	n := d.nodes[1]
	n.device.(*device).hub.port.(*udpPort).watchdog.Period = time.Hour
	d.loop = n.device.(verbs.ReadLooper).ReadLoop().(*readloop.Loop)
	d.loop.ForgetHistory()
	d.watch(n)
	n.listen()
	d.conns = connect(t, d.nodes[0], n)
	return d
}

// watch makes each message to n end the follower's wait.
func (d *readLoopPair) watch(n *testNode) {
	q := n.cq.(*cq)
	done := q.done
	q.done = func(batch []verbs.Completion) {
		if batch[0].Op == verbs.Receive {
			if called("(*Loop).Receive") {
				d.inside.Add(1)
			}
			d.by.waiting.Store(false)
		}
		done(batch)
	}
}

func (d *readLoopPair) tap(p verbs.TappedPacket) {
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

// post makes the first node send n messages.
func (d *readLoopPair) post(n int) {
	d.Helper()
	for range n {
		if err := d.conns[0].PostSend([]verbs.SendWR{send(1, make([]byte, 8))}); err != nil {
			d.Fatal(err)
		}
	}
}

func (d *readLoopPair) await(want readloop.State) {
	d.Helper()
	for begin := time.Now(); ; runtime.Gosched() {
		s := d.loop.Snapshot()
		switch {
		case s.State == want && (want != readloop.Taken || s.Blocked):
			return
		case time.Since(begin) > wait:
			d.Fatalf("%+v, want state %d", s, want)
		}
	}
}

// request requests the loop, and makes a message arrive.
func (d *readLoopPair) request() {
	d.Helper()
	d.by.waiting.Store(true)
	d.loop.Request(&d.by)
	d.post(1)
	take(d, d.nodes[1].got)
}

// handOver hands the read loop over to the follower by.
func (d *readLoopPair) handOver() {
	d.Helper()
	d.request()
	d.await(readloop.Idle)
}

// receive starts a goroutine that blocks in Receive.
func (d *readLoopPair) receive() (result chan bool) {
	d.Helper()
	d.by.waiting.Store(true)
	result = make(chan bool, 1)
	go func() { result <- d.loop.Receive(&d.by) }()
	d.await(readloop.Taken)
	return result
}

func (d *readLoopPair) want(result chan bool, want bool) {
	d.Helper()
	if got := take(d, result); got != want {
		d.Errorf("Receive = %t, want %t", got, want)
	}
}

// wantOwn checks that the port's own goroutine reads.
func (d *readLoopPair) wantOwn() {
	d.Helper()
	d.await(readloop.Own)
	before := d.inside.Load()
	d.post(1)
	take(d, d.nodes[1].got)
	if d.inside.Load() != before {
		d.Error("Receive delivers messages after the hand-over")
	}
}

// endHandOver makes the read loop return to the port's own goroutine, whatever its state.
func (d *readLoopPair) endHandOver() {
	d.by.waiting.Store(false)
	d.loop.Interrupt(&d.by)
	for begin := time.Now(); d.loop.Snapshot().State != readloop.Own; runtime.Gosched() {
		d.loop.Return(&d.by)
		if time.Since(begin) > wait {
			d.Fatal("the hand-over does not end")
		}
	}
}
