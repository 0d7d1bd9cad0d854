package socklnd

import (
	"bytes"
	"fmt"
	"net"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/wire"
)

func TestExchange(t *testing.T) {
	rounds := effort.Of(8, 20, 20)
	for _, size := range []int{0, 1, 8, 900, 1024, 4096, 65536, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			f := newTCPFabric()
			a := start(t, "127.0.0.1", f.config(Config{}))
			b := start(t, "127.0.0.2", f.config(Config{}))
			payload := pattern(size)
			for i := range rounds {
				a.put(b.id(), payload[:size/2], payload[size/2:])
				got := b.wantArrivals(i + 1)[i]
				if got.from != a.id() || !bytes.Equal(got.payload, payload) {
					t.Fatalf("arrival %d from %v: payload differs", i, got.from)
				}
				b.put(a.id(), payload)
				a.wantArrivals(i + 1)
			}
			for _, err := range append(a.wantFinalized(rounds), b.wantFinalized(rounds)...) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// pattern returns n bytes of which each differs from its neighbors.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// TestBothDial (SK-17) lets two nodes begin at the same moment: the connections of the
// higher NID win, and every message arrives.
func TestBothDial(t *testing.T) {
	spec.Covers(t, "SK-17")
	for range 20 {
		f := newTCPFabric()
		a := start(t, "127.0.0.1", f.config(Config{}))
		b := start(t, "127.0.0.2", f.config(Config{}))
		go a.put(b.id(), pattern(8))
		go b.put(a.id(), pattern(8))
		a.wantArrivals(1)
		b.wantArrivals(1)
		a.wantFinalized(1)
		b.wantFinalized(1)
		a.stop()
		b.stop()
	}
}

// TestBothSaturate: two nodes send each other messages of 1 MiB, many at once, and answer each with
// 1 MiB. Both keep reading however much they have to write.
func TestBothSaturate(t *testing.T) {
	f := newTCPFabric()
	a := start(t, "127.0.0.1", f.config(Config{}))
	b := start(t, "127.0.0.2", f.config(Config{}))
	payload := pattern(1 << 20)
	n := effort.Of(16, 24, 24)
	for _, h := range []*host{a, b} {
		peer := map[*host]*host{a: b, b: a}[h].id()
		h.delivered = func(d *lnd.Delivery) {
			if d.Header.Put().MatchBits == 0 {
				m := newPut(h.id(), peer, payload)
				m.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: 1})
				h.ni.Send(m)
			}
		}
	}
	for range n {
		a.put(b.id(), payload)
		b.put(a.id(), payload)
	}
	for _, h := range []*host{a, b} {
		for i, got := range h.wantArrivals(2 * n) {
			if !bytes.Equal(got.payload, payload) {
				t.Fatalf("arrival %d differs", i)
			}
		}
		for _, err := range h.wantFinalized(2 * n) {
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// TestSecure: two nodes in the kernel's default mode, which needs reserved ports, speak to each
// other. The test is skipped where this process may not bind reserved ports.
func TestSecure(t *testing.T) {
	if l, err := net.Listen("tcp", "127.0.0.3:1023"); err != nil {
		t.Skipf("reserved ports are not permitted: %v", err)
	} else {
		_ = l.Close()
	}
	f := newTCPFabric()
	a := start(t, "127.0.0.3", f.config(Config{Accept: AcceptSecure}))
	b := start(t, "127.0.0.4", f.config(Config{Accept: AcceptSecure}))
	a.put(b.id(), pattern(8))
	b.wantArrivals(1)
	for _, p := range b.ni.Snapshot().Peers {
		for _, c := range p.Conns {
			if c.Dialled || c.Remote.Port() > maxPrivilegedPort || c.Remote.Port() < lastSourcePort {
				t.Errorf("connection from %v", c.Remote)
			}
		}
	}
	c, err := net.Dial("tcp", f.real(b.ni.addr).String())
	if err == nil { // an error means that the connection was closed before Dial returned
		defer c.Close()
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("unprivileged connection: read %d, %v", n, err)
		}
	}
	// the refused connection does not affect the others: messages still arrive
	for n := 2; b.ni.counts[UnprivilegedPort].Load() == 0; n++ {
		a.put(b.id(), pattern(8))
		b.wantArrivals(n)
	}
}

// TestPeerRestart: a node that comes back with another incarnation is reached
// again.
func TestPeerRestart(t *testing.T) {
	f := newTCPFabric()
	a := start(t, "127.0.0.1", f.config(Config{MinReconnect: 10 * time.Millisecond}))
	for incarnation := range uint64(5) {
		b := start(t, "127.0.0.2", f.config(Config{}), func(c *lnd.Config) { c.Incarnation = incarnation })
		for len(b.arrivals()) == 0 { // the node is dialled again once the back-off is over
			a.mu.Lock()
			n := len(a.finished)
			a.mu.Unlock()
			a.put(b.id(), pattern(100))
			a.wantFinalized(n + 1)
		}
		b.stop()
	}
}

// TestUnfitMessage: a message that cannot be encoded fails alone, also when
// nothing else is to be written.
func TestUnfitMessage(t *testing.T) {
	f := newTCPFabric()
	a, b := start(t, "127.0.0.1", f.config(Config{})), start(t, "127.0.0.2", f.config(Config{}))
	a.put(b.id(), pattern(8))
	b.wantArrivals(1)
	a.wantFinalized(1)
	bad := &lnd.Message{Target: b.id()}
	bad.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle()})
	bad.Header.PayloadLength = 5 // the header announces 5 bytes, but the message has no payload
	a.ni.Send(bad)
	if errs := a.wantFinalized(2); errs[1] == nil {
		t.Error("sent without its payload")
	}
	a.put(b.id(), pattern(8))
	b.wantArrivals(2)
}
