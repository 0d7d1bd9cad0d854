package socklnd

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// datagramTap counts the datagrams that are sent.
type datagramTap struct{ sent int }

func (*datagramTap) Flow(netip.AddrPort, netip.AddrPort, bool) lnd.Flow { return nil }

func (d *datagramTap) Datagram(_, _ netip.AddrPort, sent bool, _ [][]byte) {
	if sent {
		d.sent++
	}
}

// fullBuffer returns an NI whose send buffer is full when it tries for the first time to send its second datagram;
// full is called then. The first datagram has left.
func fullBuffer(t *testing.T, tap lnd.Tap, full func(*casting)) *host {
	h := start(t, "127.0.0.1", Config{Accept: AcceptNone, MulticastPort: freeUDPPort(t)}, func(c *lnd.Config) { c.Tap = tap })
	h.cast()
	if errs := h.wantFinalized(1); errs[0] != nil {
		t.Fatal(errs[0])
	}
	c := &h.ni.cast
	try := c.tx.fn
	c.tx.fn = func(uintptr) bool {
		full(c)
		c.tx.fn, c.tx.errno = try, syscall.EAGAIN
		return true
	}
	return h
}

// cast sends a datagram to group 5.
func (h *host) cast() {
	m := newPut(h.id(), nid.ProcessID{NID: h.ni.GroupNID(5), PID: nid.LustrePID}, pattern(8))
	m.Group = 5
	h.ni.Multicast(m)
}

// TestMulticastTappedOnce: a datagram that finds the send buffer full, and leaves later, is captured once.
func TestMulticastTappedOnce(t *testing.T) {
	tap := new(datagramTap)
	h := fullBuffer(t, tap, func(*casting) {})
	h.cast()
	h.cast()
	for i, err := range h.wantFinalized(3) {
		if err != nil {
			t.Errorf("datagram %d: %v", i, err)
		}
	}
	if tap.sent != 3 {
		t.Errorf("%d datagrams captured, want 3", tap.sent)
	}
}

// TestMulticastEndsFull: the NI ends after a datagram has found the send buffer full. The datagram has not left, and
// its error says so.
func TestMulticastEndsFull(t *testing.T) {
	h := fullBuffer(t, nil, func(c *casting) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = true
	})
	h.cast()
	if errs := h.wantFinalized(2); !errors.Is(errs[1], syscall.ESHUTDOWN) {
		t.Errorf("ended with %v, want ESHUTDOWN", errs[1])
	}
	if got := h.ni.cast.txMsgs.Load(); got != 1 {
		t.Errorf("%d datagrams count as sent, want 1", got)
	}
}
