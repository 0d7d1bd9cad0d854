package socklnd

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/readloop"
)

// cutConn is a connection that writes everything in pieces of step bytes.
type cutConn struct {
	net.Conn
	step int
}

func (c cutConn) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = c.Conn.Write(b[n:min(n+c.step, len(b))])
		n += m
		runtime.Gosched()
	}
	return n, err
}

// eager is a follower that waits for one message after the other, as a loop around
// EQ.Wait does.
type eager struct {
	arrived chan struct{}

	mu         sync.Mutex
	got, seen  int
	inside     int
	loop       lnd.ReadLoop
	interrupts bool
}

func (e *eager) Waiting() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.interrupts = e.got == e.seen
	return e.interrupts
}

// take records the number of messages and the read loop of the delivery d.
func (e *eager) take(d *lnd.Delivery) {
	e.mu.Lock()
	e.got++
	if called("(*Loop).Receive") {
		e.inside++
	}
	e.loop = d.ReadLoop
	wake := e.interrupts
	e.interrupts = false
	e.mu.Unlock()
	if wake {
		d.ReadLoop.Interrupt(e)
	}
	select {
	case e.arrived <- struct{}{}:
	default:
	}
}

// next returns the latest read loop, and how many messages have come since the last call.
func (e *eager) next() (l lnd.ReadLoop, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, e.seen = e.got-e.seen, e.got
	return e.loop, n
}

// receive waits as follower until n messages have come.
func (e *eager) receive(ctx context.Context, n int) {
	for n > 0 && ctx.Err() == nil {
		l, came := e.next()
		if n -= came; came > 0 || l != nil && l.Receive(e) {
			continue
		}
		if l != nil {
			l.(*readloop.Loop).ForgetHistory()
			l.Request(e)
		}
		select {
		case <-e.arrived:
		case <-ctx.Done():
		}
	}
}

// cutPair returns two nodes with the protocol of c. The first node sends in pieces of step bytes.
func cutPair(t *testing.T, c contract, step int) (a, b *host) {
	f := newTCPFabric()
	cfg := c.config(f)
	dial := cfg.Dial
	cfg.Dial = func(ctx context.Context, local, remote netip.AddrPort) (net.Conn, error) {
		conn, err := dial(ctx, local, remote)
		return cutConn{conn, step}, err
	}
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if c.ipv6 {
		needIPv6(t)
		return startOn(t, d, "fd88::1"), startOn(t, d, "fd88::2")
	}
	return startOn(t, d, "127.0.0.1"), startOn(t, d, "127.0.0.2")
}

// TestReadLoopStream: in every version, a follower and the connection's own goroutine take
// turns. Every message, held ones included, arrives once, whole and in order, wherever the
// stream is cut into reads.
func TestReadLoopStream(t *testing.T) {
	messages := effort.Of(100, 300, 300)
	sizes := []int{0, 8, 200, 5, 0, 390, 900, 8, 8}
	for _, tt := range []struct {
		name string
		c    contract
	}{
		{name: "v1", c: contract{cfg: Config{Protocol: 1}}},
		{name: "v2 with checksums", c: contract{cfg: Config{Protocol: 2, Checksum: true}}},
		{name: "v3"},
		{name: "v4", c: contract{ipv6: true}},
	} {
		for _, step := range []int{13, 96, 120, 500, 1 << 20} {
			t.Run(fmt.Sprintf("%s/%d", tt.name, step), func(t *testing.T) {
				a, b := cutPair(t, tt.c, step)
				by := &eager{arrived: make(chan struct{}, 1)}
				b.delivered = by.take
				b.parse = func(h *host, d *lnd.Delivery) (lnd.Answer, error) {
					takeAll(d)
					if d.Header.PayloadLength == 5 {
						go h.ni.Recv(d)
						return lnd.Hold, nil
					}
					return lnd.Accept, nil
				}
				go func() {
					for i := range messages {
						a.put(b.id(), pattern(sizes[i%len(sizes)]))
						b.await("the message", func() bool { return len(b.arrived) > i-i%4 })
					}
				}()
				ctx, cancel := context.WithTimeout(t.Context(), b.patience)
				defer cancel()
				by.receive(ctx, messages)
				for i, got := range b.wantArrivals(messages) {
					if want := pattern(sizes[i%len(sizes)]); !bytes.Equal(got.payload, want) {
						t.Fatalf("message %d: %d bytes differ from what was sent", i, len(got.payload))
					}
				}
				t.Logf("%d of %d messages were read by the follower", by.inside, messages)
			})
		}
	}
}
