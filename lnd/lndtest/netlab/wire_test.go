//go:build linux

package netlab_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/netlab/netem"
)

// patience limits the wait for an event that must happen.
const patience = 2 * time.Minute

// wired makes two hosts that a wire connects.
func wired(t *testing.T) (a, b *netlab.Host, w *netlab.Wire) {
	lab := netlab.New(t)
	a, b = lab.Host("a"), lab.Host("b")
	return a, b, lab.Wire(a, "10.1.0.1/24", b, "10.1.0.2/24", 1)
}

// connect returns a TCP connection from a to b, both ends of it.
func connect(t *testing.T, a, b *netlab.Host) (from, to net.Conn) {
	t.Helper()
	l := listen(t, b, "10.1.0.2:0")
	from, err := dial(t.Context(), a, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if to, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{from, to} {
		t.Cleanup(func() { c.Close() })
	}
	return from, to
}

// transfer sends size random bytes and compares what arrives.
func transfer(t *testing.T, from, to net.Conn, size int) {
	t.Helper()
	for _, c := range []net.Conn{from, to} {
		_ = c.SetDeadline(time.Now().Add(patience))
	}
	sent := make([]byte, size)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(sent) // Read of this source never fails
	failed := make(chan error, 1)
	go func() {
		_, err := from.Write(sent)
		failed <- err
	}()
	got := make([]byte, size)
	if _, err := io.ReadFull(to, got); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, sent) {
		t.Error("what arrives differs from what was sent")
	}
}

// TestSpoiledWire checks that TCP survives every fault of a wire.
func TestSpoiledWire(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name  string
		plan  netem.Plan
		count func(netem.Counters) uint64
	}{
		{"nothing", netem.Plan{}, func(c netem.Counters) uint64 { return c.Delivered }},
		{"delay", netem.Plan{Delay: 5 * ms, Jitter: 2 * ms}, func(c netem.Counters) uint64 { return c.Delivered }},
		{"rate", netem.Plan{Rate: 100_000_000}, func(c netem.Counters) uint64 { return c.Delivered }},
		{"loss", netem.Plan{Loss: 0.01}, func(c netem.Counters) uint64 { return c.Lost }},
		{"duplication", netem.Plan{Duplicate: 0.05}, func(c netem.Counters) uint64 { return c.Duplicated }},
		{"corruption", netem.Plan{Corrupt: 0.02}, func(c netem.Counters) uint64 { return c.Corrupted }},
		{"reordering", netem.Plan{Delay: ms, Reorder: 0.05}, func(c netem.Counters) uint64 { return c.Reordered }},
		{"small queue", netem.Plan{Delay: 5 * ms, Queue: 20_000}, func(c netem.Counters) uint64 { return c.Overflowed }},
	}
	a, b, w := wired(t)
	from, to := connect(t, a, b)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.count(w.Counters(a))
			w.Spoil(a, tt.plan)
			w.Spoil(b, tt.plan)
			transfer(t, from, to, 2<<20)
			if tt.count(w.Counters(a)) == before {
				t.Errorf("did not happen: %+v", w.Counters(a))
			}
		})
	}
}

func TestWireDelay(t *testing.T) {
	a, b, w := wired(t)
	from, to := connect(t, a, b)
	w.Spoil(a, netem.Plan{Delay: 40 * time.Millisecond})
	w.Spoil(b, netem.Plan{Delay: 30 * time.Millisecond})
	begin := time.Now()
	transfer(t, from, to, 1)
	transfer(t, to, from, 1)
	if took := time.Since(begin); took < 70*time.Millisecond {
		t.Errorf("there and back took %v, want at least 70ms", took)
	}
}

func TestPulledWire(t *testing.T) {
	a, b, w := wired(t)
	l := listen(t, b, "10.1.0.2:0")
	w.Pull(a)
	if _, err := dial(t.Context(), a, l.Addr().String()); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("own end down: got %v, want ENETUNREACH", err)
	}
	w.Plug(a)
	from, to := connect(t, a, b)
	w.Pull(b)
	if _, err := dial(t.Context(), a, l.Addr().String()); !errors.Is(err, syscall.EHOSTUNREACH) {
		t.Errorf("other end down: got %v, want EHOSTUNREACH", err)
	}
	w.Plug(b)
	transfer(t, from, to, 1000) // the TCP connection is still open
}

// TestPlugKeepsTheAddress checks that IPv6 addresses survive a pulled cable.
func TestPlugKeepsTheAddress(t *testing.T) {
	lab := netlab.New(t)
	a, b := lab.Host("a"), lab.Host("b")
	for _, c := range []*netlab.Cable{
		lab.Cable(a, "fd00:1::1/64", b, "fd00:1::2/64"), lab.Wire(a, "fd00:2::1/64", b, "fd00:2::2/64", 1).Cable,
	} {
		c.Pull(b)
		c.Plug(b)
	}
	for _, addr := range []string{"fd00:1::2", "fd00:2::2"} {
		l := listen(t, b, net.JoinHostPort(addr, "0"))
		if _, err := dial(t.Context(), a, l.Addr().String()); err != nil {
			t.Error(err)
		}
	}
}

func TestSwitch(t *testing.T) {
	lab := netlab.New(t)
	a, b, c, s := lab.Host("a"), lab.Host("b"), lab.Host("c"), lab.Switch("s")
	lab.Cable(a, "10.1.0.1/24", s, "")
	lab.Wire(s, "", b, "10.1.0.2/24", 1)
	lab.Wire(c, "10.1.0.3/24", s, "", 1)
	for _, h := range []*netlab.Host{a, c} {
		from, to := connect(t, h, b)
		transfer(t, from, to, 1000)
	}
}

func TestRate(t *testing.T) {
	a, b, cable := pair(t)
	from, to := connect(t, a, b)
	const rate, size = 8_000_000, 500_000
	cable.SetRate(a, rate)
	begin := time.Now()
	transfer(t, from, to, size)
	if took := time.Since(begin); took < 400*time.Millisecond {
		t.Errorf("%d bytes at %d bit/s took %v", size, rate, took)
	}
	cable.SetRate(a, 2*rate) // set another limit
	cable.SetRate(a, 0)
	cable.SetRate(a, 0) // removing the limit a second time is no error
	transfer(t, from, to, 8<<20)
}

// TestLoss: a wire with loss 0.25 loses a quarter of the datagrams, within 5 standard deviations.
func TestLoss(t *testing.T) {
	a, b, cable := pair(t)
	connect(t, a, b) // connect once, so that both hosts resolve the address
	var from, to net.Conn
	for _, end := range []struct {
		host        *netlab.Host
		conn        *net.Conn
		local, peer int
	}{{a, &from, 1, 2}, {b, &to, 2, 1}} {
		if err := end.host.Do(func() (err error) {
			*end.conn, err = net.DialUDP("udp", udp(end.local), udp(end.peer))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		defer (*end.conn).Close()
	}
	// Nothing is received while a round is sent, so a round is small enough for the receiving
	// socket's buffer. Then the loss is switched off, and a datagram 1 marks the end of the round.
	const rounds, each = 20, 100
	lost := rounds * each
	for range rounds {
		cable.SetLoss(b, 0.25)
		for range each {
			send(t, from, 0)
		}
		cable.SetLoss(b, 0)
		send(t, from, 1)
		for receive(t, to) == 0 {
			lost--
		}
	}
	const sent = rounds * each
	if off := math.Abs(float64(lost) - 0.25*sent); off > 5*math.Sqrt(sent*0.25*0.75) {
		t.Errorf("lost %d of %d, want a quarter", lost, sent)
	}
}

func send(t *testing.T, c net.Conn, b byte) {
	t.Helper()
	if _, err := c.Write([]byte{b}); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c net.Conn) byte {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	b := []byte{0}
	if _, err := c.Read(b); err != nil {
		t.Fatal(err)
	}
	return b[0]
}

func udp(host int) *net.UDPAddr {
	// Each host is alone in its namespace, so the port is free.
	return &net.UDPAddr{IP: net.IPv4(10, 1, 0, byte(host)), Port: 4000}
}

func TestMTU(t *testing.T) {
	a, b, w := wired(t)
	from, to := connect(t, a, b)
	for _, mtu := range []int{576, 9000, 1500} {
		w.SetMTU(mtu)
		for _, h := range []*netlab.Host{a, b} {
			if err := h.Do(func() error {
				i, err := net.InterfaceByName("eth0")
				if err == nil && i.MTU != mtu {
					err = fmt.Errorf("mtu %d, want %d", i.MTU, mtu)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
		}
		transfer(t, from, to, 100_000)
	}
}

// TestBlock: packets from a blocked address are lost, and those from others pass. After Block without
// addresses all packets pass again.
func TestBlock(t *testing.T) {
	a, b, _ := pair(t)
	from, to := connect(t, a, b)
	b.Block("192.0.2.1")
	transfer(t, from, to, 1000)
	b.Block(from.LocalAddr().(*net.TCPAddr).IP.String())
	if _, err := from.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if err := to.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := to.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes arrived, %v", n, err)
	}
	b.Block()
	again, to := connect(t, a, b)
	transfer(t, again, to, 1000)
}

func TestReset(t *testing.T) {
	a, b, _ := pair(t)
	from, _ := connect(t, a, b)
	b.Reset(true)
	if _, err := from.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want ECONNRESET", err)
	}
	b.Reset(false)
	again, to := connect(t, a, b)
	transfer(t, again, to, 1000)
}
