package socklnd

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// street is two hosts with a cable between them, whose NIs have joined group 1.
type street struct {
	cable *netlab.Cable
	hosts [2]*netlab.Host
	ends  [2]*host
}

func newStreet(t *testing.T, cfg Config) *street {
	t.Helper()
	lab := netlab.New(t)
	s := &street{hosts: [2]*netlab.Host{lab.Host("a"), lab.Host("b")}}
	s.cable = lab.Cable(s.hosts[0], "10.8.0.1/24", s.hosts[1], "10.8.0.2/24")
	cfg.Accept = AcceptNone
	for i := range s.ends {
		if err := s.hosts[i].Do(func() error {
			s.ends[i] = start(t, fmt.Sprintf("10.8.0.%d", i+1), cfg)
			return s.ends[i].ni.Join(1)
		}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// cast sends a datagram of size bytes from the first host.
func (s *street) cast(size int) {
	ni := s.ends[0].ni
	m := newPut(s.ends[0].id(), nid.ProcessID{NID: ni.GroupNID(1), PID: nid.LustrePID}, pattern(size))
	m.Group = 1
	_ = s.hosts[0].Do(func() error {
		ni.Multicast(m)
		return nil
	})
}

// TestMulticastMTU: datagrams are not fragmented. When the MTU becomes smaller the next
// datagram that exceeds it ends with an error, and the limits are reduced then. When the MTU is as before, so are the
// limits, as soon as the NI learns that its link is up, or joins a group.
func TestMulticastMTU(t *testing.T) {
	spec.Covers(t, "RM-A22")
	s := newStreet(t, Config{})
	a, b := s.ends[0], s.ends[1]
	limit := a.ni.MulticastLimits().MaxPayload
	if limit != 1500-28-80 {
		t.Errorf("limit %d in packets of 1500 bytes", limit)
	}
	s.cast(limit)
	b.wantArrivals(1)
	s.cable.SetMTU(1300)
	s.cast(limit)
	if errs := a.wantFinalized(2); errs[0] != nil || !errors.Is(errs[1], syscall.EMSGSIZE) {
		t.Errorf("ended %v", errs)
	}
	var after int
	_ = s.hosts[0].Do(func() error { // the interface is in the first host's namespace
		for begin := time.Now(); after != 1300-28-80 && time.Since(begin) < 60*time.Second; runtime.Gosched() {
			a.ni.cast.measure()
			after = a.ni.MulticastLimits().MaxPayload
		}
		return nil
	})
	if after != 1300-28-80 {
		t.Fatalf("limit %d in packets of 1300 bytes", after)
	}
	s.cast(after)
	b.wantArrivals(2)
	if got := a.ni.counts[DatagramTooLong].Load(); got != 1 {
		t.Errorf("%d too long, want 1", got)
	}
	s.cable.SetMTU(1500)
	s.linkUp()
	if got := a.ni.MulticastLimits().MaxPayload; got != limit {
		t.Fatalf("limit %d after LinkUp in packets of 1500 bytes", got)
	}
	s.cast(limit)
	b.wantArrivals(3)
	s.cable.SetMTU(1400)
	if err := s.hosts[0].Do(func() error { return a.ni.Join(1) }); err != nil {
		t.Fatal(err)
	}
	if got := a.ni.MulticastLimits().MaxPayload; got != 1400-28-80 {
		t.Errorf("limit %d after Join in packets of 1400 bytes", got)
	}
}

// TestMulticastJumbo: the MTU grows beyond the buffers that arriving datagrams have since the first Join. The limit is
// what these buffers can take, so the longest datagrams arrive whole.
func TestMulticastJumbo(t *testing.T) {
	spec.Covers(t, "RM-A22")
	s := newStreet(t, Config{})
	a, b := s.ends[0], s.ends[1]
	s.cable.SetMTU(16000)
	s.linkUp()
	limit := a.ni.MulticastLimits().MaxPayload
	if want := jumbo - 80; limit != want {
		t.Errorf("limit %d, want %d", limit, want)
	}
	s.cast(limit)
	b.wantArrivals(1)
	if errs := a.wantFinalized(1); errs[0] != nil {
		t.Error(errs[0])
	}
}

// TestMulticastRoom: datagrams for which the system has no room wait, and leave in order when
// there is room.
func TestMulticastRoom(t *testing.T) {
	const n, size = 400, 1000
	s := newStreet(t, Config{TxBufferSize: 1}) // the smallest buffer that the system allows
	s.cable.SetRate(s.hosts[0], 50_000_000)
	for range n {
		s.cast(size)
	}
	for i, err := range s.ends[0].wantFinalized(n) {
		if err != nil {
			t.Fatalf("datagram %d: %v", i, err)
		}
	}
	s.ends[1].wantArrivals(n)
	if got := s.ends[1].ni.Snapshot().Multicast; got.RxMessages != n || got.RxBytes != n*size || got.Missed != 0 || len(got.Groups) != 1 {
		t.Errorf("the receiver says %+v", got)
	}
	if got := s.ends[0].ni.Snapshot().Multicast; got.TxMessages != n || got.TxBytes != n*size || got.Interface != "eth0" {
		t.Errorf("the sender says %+v", got)
	}
}

// TestMulticastOverrun: a datagram that finds the receive buffer full is lost, and counted
// (RM-A21); as many as the limits promise are received.
func TestMulticastOverrun(t *testing.T) {
	spec.Covers(t, "RM-A21")
	s := newStreet(t, Config{MulticastRxBuffer: 32 << 10})
	b := s.ends[1]
	hold, held := make(chan struct{}), make(chan struct{})
	b.parse = func(h *host, d *lnd.Delivery) (lnd.Answer, error) {
		h.parse = func(_ *host, d *lnd.Delivery) (lnd.Answer, error) {
			takeAll(d)
			return lnd.Accept, nil
		}
		close(held)
		<-hold // block the upcall, as a handler does that breaks the rule that handlers must not block
		takeAll(d)
		return lnd.Accept, nil
	}
	const size = 1000
	s.cast(size)
	<-held
	fits := s.ends[0].ni.MulticastLimits().Burst(size)
	for range fits {
		s.cast(size)
	}
	close(hold)
	b.wantArrivals(1 + fits)

	const many = 1000
	b.parse = func(*host, *lnd.Delivery) (lnd.Answer, error) { return lnd.Accept, nil }
	stop := make(chan struct{})
	b.delivered = func(*lnd.Delivery) { <-stop }
	for range many {
		s.cast(size)
	}
	close(stop)
	// The system reports how many datagrams were lost when the next one finds room: send datagrams
	// until it has.
	for begin := time.Now(); b.ni.cast.missed.Load() == 0; runtime.Gosched() {
		if time.Since(begin) > b.patience {
			t.Fatalf("no news of what was missed: %+v", b.ni.Snapshot().Multicast)
		}
		s.cast(size)
	}
	if got := b.ni.Snapshot().Multicast; got.RxMessages < uint64(1+fits) || got.Missed > s.ends[0].ni.cast.txMsgs.Load() {
		t.Errorf("%d were sent, %+v", s.ends[0].ni.cast.txMsgs.Load(), got)
	}
}

// TestMulticastRefused: if the system refuses a datagram the error advises what to do.
func TestMulticastRefused(t *testing.T) {
	h := castHost(t)
	var err error
	for g := lnd.Group(10); g < 10000 && err == nil; g++ {
		err = h.ni.Join(g)
	}
	switch {
	case err == nil:
		t.Skip("this system allows many groups")
	case !errors.Is(err, syscall.ENOBUFS):
		t.Errorf("refused with %v", err)
	}
	t.Log(err)
	if err := h.ni.Leave(10); err != nil {
		t.Error(err)
	}
	if err := h.ni.Join(9999); err != nil {
		t.Errorf("after leaving another: %v", err)
	}
}

// TestMulticastPortTaken: another program has the port, so the NI cannot join a group. It can
// send, because sending needs no fixed port.
func TestMulticastPortTaken(t *testing.T) {
	l, err := net.ListenUDP("udp4", &net.UDPAddr{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := start(t, "127.0.0.1", Config{Accept: AcceptNone, MulticastPort: addrPort(l.LocalAddr()).Port()})
	if err := h.ni.Join(1); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "multicast_port") {
		t.Errorf("join: %v", err)
	}
	m := newPut(h.id(), nid.ProcessID{NID: h.ni.GroupNID(1), PID: nid.LustrePID}, pattern(8))
	m.Group = 1
	h.ni.Multicast(m)
	if errs := h.wantFinalized(1); errs[0] != nil {
		t.Errorf("ended with %v", errs[0])
	}
}

// TestNoMulticast: an NI that is configured without multicast, or whose address is not that
// of an interface, has no multicast, and its error says so.
func TestNoMulticast(t *testing.T) {
	for name, cfg := range map[string]struct {
		Config
		addr string
	}{
		"configured": {Config{NoMulticast: true}, "127.0.0.1"},
		"nowhere":    {Config{}, "192.0.2.77"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Accept = AcceptNone
			h := start(t, cfg.addr, cfg.Config)
			if _, ok := lnd.AsMulticaster(h.ni); ok {
				t.Error("it has multicast")
			}
			if err := h.ni.Join(1); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("join: %v", err)
			}
			m := newPut(h.id(), h.id(), pattern(8))
			m.Group = 1
			h.ni.Multicast(m)
			if errs := h.wantFinalized(1); !errors.Is(errs[0], errors.ErrUnsupported) {
				t.Errorf("ended with %v", errs[0])
			}
		})
	}
}

// TestMulticastConfig: invalid multicast settings are refused, and the default of the UDP port is
// derived from the accept port.
func TestMulticastConfig(t *testing.T) {
	for _, tt := range []struct {
		cfg Config
		ok  bool
	}{
		{Config{MulticastBase: netip.MustParseAddr("239.1.0.0")}, true},
		{Config{MulticastBase: netip.MustParseAddr("239.1.1.0")}, false},
		{Config{MulticastBase: netip.MustParseAddr("239.1.0.1")}, false},
		{Config{MulticastBase: netip.MustParseAddr("224.0.0.0")}, false},
		{Config{MulticastBase: netip.MustParseAddr("10.0.0.0")}, false},
		{Config{MulticastBase: netip.MustParseAddr("ff15::")}, false},
		{Config{MulticastBase6: netip.MustParseAddr("ff18::7:0")}, true},
		{Config{MulticastBase6: netip.MustParseAddr("ff18::7:1")}, false},
		{Config{MulticastBase6: netip.MustParseAddr("239.1.0.0")}, false},
		{Config{MulticastPort: rocePort}, false},
		{Config{MulticastTTL: 256}, false},
		{Config{MulticastTTL: -1}, false},
		{Config{MulticastRxBuffer: -1}, false},
	} {
		if _, err := New(tt.cfg); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt.cfg, err)
		}
	}
	for accept, want := range map[uint16]uint16{988: 10988, 7988: 17988, 55535: 65535, 55536: 45536, 65535: 55535} {
		if got := (Config{AcceptPort: accept}).withDefaults().MulticastPort; got != want {
			t.Errorf("accept port %d: %d, want %d", accept, got, want)
		}
	}
}
