package socklnd

import (
	"bytes"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/readloop"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// reading is a follower whose wait ends with the next message that is delivered.
type reading struct {
	waiting atomic.Bool
	inside  atomic.Int64 // number of deliveries that Receive made
}

func (b *reading) Waiting() bool { return b.waiting.Load() }

// readLoopPair is a pair of nodes; by is a follower of the read loop of b's connection.
// Every delivery ends the wait of by.
type readLoopPair struct {
	*testing.T
	a, b     *host
	by       *reading
	loop     *readloop.Loop
	payloads int
}

func newReadLoopPair(t *testing.T) *readLoopPair {
	f := newTCPFabric()
	l := &readLoopPair{
		T: t, by: new(reading),
		a: start(t, "127.0.0.1", f.config(Config{})), b: start(t, "127.0.0.2", f.config(Config{})),
	}
	l.b.delivered = func(d *lnd.Delivery) {
		l.loop, _ = d.ReadLoop.(*readloop.Loop)
		if called("(*Loop).Receive") {
			l.by.inside.Add(1)
		}
		l.by.waiting.Store(false)
	}
	l.put(8)
	l.b.wantArrivals(l.payloads)
	l.a.awaitConns(3)
	l.loop.ForgetHistory()
	l.loop.SetMaxAbsence(time.Hour)
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

func (l *readLoopPair) put(size int) {
	l.payloads++
	l.a.put(l.b.id(), pattern(size))
}

// request requests the read loop, and makes a message arrive, after which the loop is handed over.
func (l *readLoopPair) request() {
	l.Helper()
	l.by.waiting.Store(true)
	l.loop.Request(l.by)
	l.put(8)
	l.b.wantArrivals(l.payloads)
	l.await(readloop.Idle)
}

func (l *readLoopPair) await(want readloop.State) {
	l.Helper()
	for begin := time.Now(); ; runtime.Gosched() {
		s := l.loop.Snapshot()
		switch {
		case s.State == want && (want != readloop.Taken || s.Blocked):
			return
		case time.Since(begin) > l.b.patience:
			l.Fatalf("state %d, want %d", s.State, want)
		}
	}
}

// receive does what request does, and then calls Receive in another goroutine.
func (l *readLoopPair) receive() (result chan bool) {
	l.Helper()
	l.request()
	l.by.waiting.Store(true)
	result = make(chan bool, 1)
	go func() { result <- l.loop.Receive(l.by) }()
	l.await(readloop.Taken)
	return result
}

func (l *readLoopPair) wantEnd(result chan bool, want bool) {
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

// cut writes a part of a PUT to the CONTROL connection, and returns a function that writes the
// rest.
func (l *readLoopPair) cut(size int) (rest func()) {
	l.Helper()
	l.payloads++
	for _, c := range l.a.ni.peers.All()[0].conns {
		if c.ctype != ksock.Control {
			continue
		}
		m := newPut(l.a.id(), l.b.id(), pattern(size))
		b, err := c.framing.appendHeaders(nil, &m.Header, 0)
		if err != nil {
			l.Fatal(err)
		}
		b = append(b, pattern(size)...)
		write := func(b []byte) {
			raceWrite()
			if _, err := c.net.Write(b); err != nil {
				l.Error(err)
			}
		}
		write(b[:len(b)/2])
		return func() { write(b[len(b)/2:]) }
	}
	l.Fatal("no CONTROL connection")
	return nil
}

// wantInside checks how many messages Receive has delivered.
func (l *readLoopPair) wantInside(n int64) {
	l.Helper()
	if got := l.by.inside.Load(); got != n {
		l.Errorf("Receive delivered %d messages, want %d", got, n)
	}
}

// TestReadLoop: a follower receives small messages in its own goroutine, call after call.
func TestReadLoop(t *testing.T) {
	l := newReadLoopPair(t)
	l.b.ni.watchdog.Period = time.Hour
	result := l.receive()
	for n := range int64(50) {
		l.put(8)
		l.wantEnd(result, true)
		l.wantInside(n + 1)
		l.by.waiting.Store(true)
		go func() { result <- l.loop.Receive(l.by) }()
	}
	for n, size := range []int{200, 900} { // the second message comes in more than one read
		l.put(size)
		l.wantEnd(result, true)
		l.wantInside(51 + int64(n))
		l.by.waiting.Store(true)
		go func() { result <- l.loop.Receive(l.by) }()
	}
	l.put(8)
	l.wantEnd(result, true)
	l.b.wantArrivals(l.payloads)
	l.await(readloop.Idle)
}

// TestReadLoopEnds: each of these events ends a hand-over and leaves the rest to the connection's
// own goroutine.
func TestReadLoopEnds(t *testing.T) {
	for name, end := range map[string]func(l *readLoopPair, result chan bool){
		"another event in the middle of a message": func(l *readLoopPair, result chan bool) {
			begun := make(chan struct{})
			l.b.parse = func(_ *host, d *lnd.Delivery) (lnd.Answer, error) {
				takeAll(d)
				close(begun)
				return lnd.Accept, nil
			}
			rest := l.cut(1 << 20)
			<-begun
			l.await(readloop.Taken)
			l.by.waiting.Store(false)
			l.loop.Interrupt(l.by)
			l.wantEnd(result, false)
			rest()
			l.b.wantArrivals(l.payloads)
			if got := l.b.wantArrivals(l.payloads); !bytes.Equal(got[1+1].payload, pattern(1<<20)) {
				l.Error("the payload differs")
			}
			l.wantInside(0)
		},
		"a held message": func(l *readLoopPair, result chan bool) {
			held := make(chan *lnd.Delivery, 1)
			l.b.parse = func(_ *host, d *lnd.Delivery) (lnd.Answer, error) {
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
		"a broken message": func(l *readLoopPair, result chan bool) {
			l.b.parse = func(*host, *lnd.Delivery) (lnd.Answer, error) { return lnd.Accept, wire.ErrType }
			l.put(8)
			l.wantEnd(result, false)
			l.b.await("PeerDown", func() bool { return len(l.b.downs) == 1 })
			l.b.wantCount(BadMessage, 1)
		},
		"the peer": func(l *readLoopPair, result chan bool) {
			l.a.stop()
			l.wantEnd(result, false)
			l.b.await("PeerDown", func() bool { return len(l.b.downs) == 1 })
		},
		"this node": func(l *readLoopPair, result chan bool) {
			l.b.stop()
			l.wantEnd(result, false)
		},
		"an interruption, and Return": func(l *readLoopPair, result chan bool) {
			l.by.waiting.Store(false)
			l.loop.Interrupt(l.by)
			l.wantEnd(result, true)
			l.loop.Return(l.by)
			l.await(readloop.Own)
			l.put(8)
			l.b.wantArrivals(l.payloads)
			l.wantInside(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newReadLoopPair(t)
			l.b.ni.watchdog.Period = time.Hour
			result := l.receive()
			end(l, result)
			if l.loop.Receive(l.by) {
				t.Error("Receive after the hand-over")
			}
		})
	}
}

// TestReadLoopUnused: an unused loop goes back to the connection.
func TestReadLoopUnused(t *testing.T) {
	l := newReadLoopPair(t)
	// a loop without unread bytes is taken back only after 20 times this time: the second message comes
	// before that
	l.loop.SetMaxAbsence(200 * time.Millisecond)
	l.request()
	loop := l.loop
	l.put(8)
	for begin := time.Now(); ; runtime.Gosched() {
		if loop.Snapshot().Delays == 1 {
			break
		}
		if time.Since(begin) > l.b.patience {
			t.Fatal("the loop does not come back")
		}
	}
	l.put(8)
	l.b.wantArrivals(l.payloads)
	l.wantInside(0)
}

// TestReadLoopStopped: if a connection ends while its read loop is idle, the loop goes back to the connection's own
// goroutine.
func TestReadLoopStopped(t *testing.T) {
	for name, stop := range map[string]func(l *readLoopPair){
		"the peer":  func(l *readLoopPair) { l.a.stop(); l.loop.Return(l.by) },
		"this node": func(l *readLoopPair) { l.b.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newReadLoopPair(t)
			l.b.ni.watchdog.Period = time.Hour
			l.request()
			stop(l)
			l.await(readloop.Own)
		})
	}
}

// TestReadLoopWithdrawn: a follower that has withdrawn its request or still waits does not
// get the loop.
func TestReadLoopWithdrawn(t *testing.T) {
	l := newReadLoopPair(t)
	l.by.waiting.Store(true)
	l.loop.Request(l.by)
	l.loop.Return(l.by)
	l.put(8)
	l.b.wantArrivals(l.payloads)
	l.b.delivered = func(*lnd.Delivery) {} // from now on the follower waits without end
	l.by.waiting.Store(true)
	l.loop.Request(l.by)
	for range 3 { // the third message is read from the socket only after the second one was handled
		l.put(8)
		l.b.wantArrivals(l.payloads)
	}
	if l.loop.Receive(l.by) {
		t.Error("handed over")
	}
}
