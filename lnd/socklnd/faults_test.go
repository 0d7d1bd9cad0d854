package socklnd

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestPeerDownCause: whatever ends the connections of a peer, PeerDown reports that cause, once, and
// the message that was being sent ends with it, once.
func TestPeerDownCause(t *testing.T) {
	for _, tt := range []struct {
		name   string
		breaks func(t *testing.T, h *host, k *kernel)
		why    Reason
		status syscall.Errno
	}{
		{"the peer closes", func(_ *testing.T, _ *host, k *kernel) { k.control.Close() }, PeerClosed, syscall.EIO},
		{"message cut", func(_ *testing.T, _ *host, k *kernel) {
			_, _ = k.bulkOut.Write([]byte{0xc1, 0})
			k.bulkOut.Close()
		}, CutMessage, syscall.EIO},
		{"bad message", func(_ *testing.T, _ *host, k *kernel) { k.control.send("c2000000" + noop(0, 1)[8:]) }, BadMessageType, syscall.EPROTO},
		{"ack of no cookie", func(_ *testing.T, _ *host, k *kernel) { k.control.send(noop(0, 99)) }, BadAck, syscall.EPROTO},
		{"nothing is read", func(*testing.T, *host, *kernel) {}, SendTimeout, syscall.ETIMEDOUT},
		{"restart", func(t *testing.T, _ *host, k *kernel) {
			p := k.net.connect(t, "10.0.0.1:900", "10.0.0.2:988")
			go p.send(request, hello[:len(hello)-34]+"9977665544332211 "+hello[len(hello)-17:]+"01000000 00000000")
			p.expectEndAfter(56)
		}, PeerRestarted, syscall.EIO},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{Keepalive: -1})
				h.put(probeID, pattern(2000)) // the peer does not read this message
				synctest.Wait()
				tt.breaks(t, h, k)
				h.await("PeerDown", func() bool { return len(h.downs) == 1 })
				for _, err := range append(h.wantFinalized(1), h.downs...) {
					if e, ok := errors.AsType[*Error](err); !ok || e.Reason != tt.why || !errors.Is(err, tt.status) {
						t.Errorf("%v, want %v and %v", err, tt.why, tt.status)
					}
				}
				synctest.Wait()
				h.wantCount(tt.why, 1)
				if len(h.downs) != 1 || len(h.finished) != 1 {
					t.Errorf("%d times down, %d finalized", len(h.downs), len(h.finished))
				}
			})
		})
	}
}

// expectEndAfter reads n bytes, and then waits for the end of the connection.
func (p *probe) expectEndAfter(n int) {
	p.t.Helper()
	if got := p.read(n); len(got) != n {
		p.t.Errorf("%d bytes %x, want %d", len(got), got, n)
	}
	p.expectEnd()
}

// TestNeverReadingPeer: a peer that reads nothing delays only its own messages, of which there
// are as many as lnet has credits for it. After sock_timeout these fail and the peer is down.
// Messages of other peers are not delayed.
func TestNeverReadingPeer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Keepalive: -1})
		other := nid.ProcessID{NID: nid.MustParse("10.0.0.4@tcp"), PID: nid.LustrePID}
		good := start(t, "10.0.0.4", k.net.config(Config{Keepalive: -1}))
		const credits = 8
		for range credits {
			h.put(probeID, pattern(1<<20))
		}
		for i := range 100 {
			h.put(other, pattern(1<<10))
			good.wantArrivals(i + 1)
		}
		h.wantFinalized(100)
		synctest.Wait()
		begin := time.Now()
		for _, err := range h.wantFinalized(100 + credits)[100:] {
			if !errors.Is(err, syscall.ETIMEDOUT) {
				t.Errorf("message ended with %v", err)
			}
		}
		if d := time.Since(begin); d > 62*time.Second {
			t.Errorf("after %v", d)
		}
		h.put(other, pattern(8))
		good.wantArrivals(101)
		h.wantCount(SendTimeout, 1)
		good.wantCount(PeerClosed, 0)
	})
}

// ledger checks that every message ends once, whether it was given to Send or, as an inline
// message, to Post.
type ledger struct {
	lnd.Upcalls
	h    *host
	open map[*lnd.Message]bool
	ends int
}

func (l *ledger) finalized(m *lnd.Message, _ error) {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	if !l.open[m] {
		l.h.t.Errorf("message %p finalized, but not ours any more", m)
	}
	delete(l.open, m)
	l.ends++
}

func (l *ledger) send(to nid.ProcessID, payload []byte) {
	m := newPut(l.h.id(), to, payload)
	l.h.mu.Lock()
	l.open[m] = true
	l.h.mu.Unlock()
	i := &lnd.Inline{Header: m.Header, To: to, Record: lnd.Record{Upper: m}}
	f, taken := l.h.ni.Post(i, m.Payload, true)
	if !taken {
		l.h.ni.Send(m)
	}
	if f != nil {
		f.Flush()
	}
}

func (l *ledger) Left(_ any, list []lnd.Record, _ nid.ProcessID, _ time.Duration) {
	for _, r := range list {
		l.finalized(r.Upper.(*lnd.Message), nil)
	}
}

func (l *ledger) Lost(_ any, r *lnd.Record, h *wire.Header, _ nid.ProcessID, _ int, _ []byte, err error) {
	m := r.Upper.(*lnd.Message)
	if *h != m.Header {
		l.h.t.Errorf("a message was lost with the header %+v, want %+v", h, m.Header)
	}
	l.finalized(m, err)
}

// TestFinalizedOnce: two nodes send to each other while connections break at random, listeners
// vanish and nodes restart. Every message is finalized exactly once, and arrives whole, at most
// once. If nothing broke, every message that was finalized without error has arrived.
func TestFinalizedOnce(t *testing.T) {
	for seed := range effort.Of[uint64](4, 10, 100) {
		bubble(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			n := newMemNet()
			cfg := n.config(Config{MinReconnect: 10 * time.Millisecond, ConnsPerPeer: 1 + int(seed)%3})
			a, b := start(t, "10.0.0.2", cfg), start(t, "10.0.0.3", cfg)
			ledgers := []*ledger{{h: a, open: map[*lnd.Message]bool{}}, {h: b, open: map[*lnd.Message]bool{}}}
			for i, l := range ledgers {
				l.h.finalized = l.finalized
				if seed%2 == uint64(i) {
					l.h.ni.inline = l
				}
			}
			sent := 0
			for range 300 {
				for range 1 + rnd.IntN(4) {
					from := rnd.IntN(2)
					ledgers[from].send(ledgers[1-from].h.id(), pattern(rnd.IntN(4)*1000))
					sent++
				}
				if rnd.IntN(10) == 0 {
					breakOne(rnd, []*host{a, b}[rnd.IntN(2)])
				}
				time.Sleep(time.Duration(rnd.IntN(20)) * time.Millisecond)
			}
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			if ends := ledgers[0].ends + ledgers[1].ends; ends != sent || len(ledgers[0].open)+len(ledgers[1].open) != 0 {
				t.Errorf("seed %d: %d messages finalized %d times, %d never", seed, sent, ends, len(ledgers[0].open)+len(ledgers[1].open))
			}
			whole := 0
			for _, h := range []*host{a, b} {
				for _, got := range h.arrivals() {
					if !bytes.Equal(got.payload, pattern(len(got.payload))) {
						t.Fatalf("seed %d: payload differs", seed)
					}
					whole++
				}
				if slices.ContainsFunc(h.downs, func(err error) bool { return err == nil }) {
					t.Errorf("seed %d: down without a cause", seed)
				}
			}
			if whole > sent || whole < sent/4 {
				t.Errorf("seed %d: %d of %d messages arrived", seed, whole, sent)
			}
		})
	}
}

// breakOne closes one of h's connections without h's knowledge.
func breakOne(rnd *rand.Rand, h *host) {
	for _, p := range h.ni.peers.All() {
		p.mu.Lock()
		if len(p.conns) > 0 {
			_ = p.conns[rnd.IntN(len(p.conns))].net.Close()
		}
		p.mu.Unlock()
	}
}
