package socklnd

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
)

// TestReceiveTimeout (SK-21): if no more bytes of a message arrive, the connections of its peer end after
// sock_timeout at the earliest and 1.25 × sock_timeout at the latest.
func TestReceiveTimeout(t *testing.T) {
	spec.Covers(t, "SK-21")
	whole := kernelPut(t, 0, pattern(100))
	for name, part := range map[string]int{
		"message header": 10, "LNet header": 24, "in the LNet header": 50, "payload": 150,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{Keepalive: -1})
				_, _ = k.control.Write(whole[:part])
				d := k.bulkIn.expectEnd()
				if d < 49*time.Second || d > 62*time.Second {
					t.Errorf("closed after %v", d)
				}
				h.await("PeerDown", func() bool { return len(h.downs) == 1 })
				h.wantCount(ReceiveTimeout, 1)
				if err := h.downs[0]; !errors.Is(err, syscall.ETIMEDOUT) {
					t.Error(err)
				}
			})
		})
	}
}

// TestSlowSender: a message is not given up while any bytes of it arrive within sock_timeout.
func TestSlowSender(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Keepalive: -1})
		for _, b := range kernelPut(t, 0, pattern(4)) {
			_, _ = k.control.Write([]byte{b})
			time.Sleep(30 * time.Second)
		}
		h.wantArrivals(1)
	})
}

// TestSendTimeout (SK-21): a peer that reads nothing loses its connections; another
// peer is not affected.
func TestSendTimeout(t *testing.T) {
	spec.Covers(t, "SK-21")
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Keepalive: -1})
		begin := time.Now()
		for range 5 {
			h.put(probeID, pattern(10))
		}
		for _, err := range h.wantFinalized(5) {
			if !errors.Is(err, syscall.ETIMEDOUT) {
				t.Error(err)
			}
		}
		if d := time.Since(begin); d < 49*time.Second || d > 62*time.Second {
			t.Errorf("closed after %v", d)
		}
		k.bulkOut.expectEnd()
		h.wantCount(SendTimeout, 1)
	})
}

// TestKeepalive (SK-20): a silent peer gets a NOOP on our BULK_IN after 30 s and again
// after at least 10 s; one that speaks gets none.
func TestKeepalive(t *testing.T) {
	spec.Covers(t, "SK-20")
	bubble(t, func(t *testing.T) {
		_, k := established(t, Config{})
		begin := time.Now()
		k.bulkOut.expect(noop(0, 1))
		if d := time.Since(begin); d < 30*time.Second || d > 38*time.Second {
			t.Errorf("first keepalive after %v", d)
		}
		begin = time.Now()
		k.bulkOut.expect(noop(0, 1))
		if d := time.Since(begin); d < 10*time.Second || d > 18*time.Second {
			t.Errorf("second keepalive after %v", d)
		}
		for range 10 {
			time.Sleep(5 * time.Second)
			k.control.send(noop(0, 1))
		}
		k.bulkOut.expectOpen(20 * time.Second)
	})
}

func TestNoKeepaliveInVersion2(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		start(t, "10.0.0.2", n.config(Config{}))
		p := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
		p.send(request, inVersion2(helloCtl))
		p.read(56)
		p.expectOpen(5 * time.Minute)
	})
}

// pausedClock is a clock whose process can be stopped: time passes at once, and no timer fires meanwhile.
type pausedClock struct {
	machine.Clock
	paused atomic.Int64
}

func (c *pausedClock) Now() time.Duration { return c.Clock.Now() + time.Duration(c.paused.Load()) }

// TestStopped: the process is stopped for longer than sock_timeout in the middle of a message. The time does not count:
// the rest of the message may wait in the socket. If nothing more comes, the connection ends after sock_timeout.
func TestStopped(t *testing.T) {
	spec.Covers(t, "SK-21")
	whole := kernelPut(t, 0, pattern(100))
	for _, comes := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			clock := &pausedClock{Clock: machine.RealClock()}
			h, k := established(t, Config{Keepalive: -1}, func(c *lnd.Config) { c.Clock = clock })
			_, _ = k.control.Write(whole[:50])
			begin := time.Now()
			time.Sleep(12 * time.Second)
			clock.paused.Add(int64(time.Hour))
			time.Sleep(6 * time.Second) // at least one scan
			if comes {
				_, _ = k.control.Write(whole[50:])
				h.wantArrivals(1)
				return
			}
			k.bulkIn.expectEnd()
			if d := time.Since(begin); d < 49*time.Second || d > 62*time.Second {
				t.Errorf("closed after %v", d)
			}
			h.wantCount(ReceiveTimeout, 1)
		})
	}
}
