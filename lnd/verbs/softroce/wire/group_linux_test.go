package wire

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/lndtest/netlab"
)

// TestGroupSocket: members of a group get what is sent to it, and neither what goes
// to another group nor to their node. The datagrams come from the sender's address.
func TestGroupSocket(t *testing.T) {
	t.Run("IPv4", func(t *testing.T) { testGroupSocket(t, "127.0.0.2", "239.76.5.1", "239.76.5.2") })
	t.Run("IPv6", func(t *testing.T) { // the loopback has no IPv6 multicast
		lab := netlab.New(t)
		a, b := lab.Host("a"), lab.Host("b")
		lab.Cable(a, "fd09::1/64", b, "fd09::2/64")
		_ = a.Do(func() error {
			testGroupSocket(t, "fd09::1", "ff15::4c4e:501", "ff15::4c4e:502")
			return nil
		})
	})
}

func testGroupSocket(t *testing.T, local, group, other string) {
	addr := netip.MustParseAddr(local)
	i, err := interfaceOf(addr)
	if err != nil {
		t.Fatal(err)
	}
	s, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 0)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rc, err := s.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var optErr error
	if err := rc.Control(func(fd uintptr) { optErr = setCasting(int(fd), addr, i.Index) }); err != nil || optErr != nil {
		t.Fatal(err, optErr)
	}
	self := s.LocalAddr().(*net.UDPAddr).AddrPort()
	var members []*net.UDPConn
	for range 2 {
		m, err := listenGroup(netip.AddrPortFrom(netip.MustParseAddr(group), self.Port()), i.Index, func(int) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		members = append(members, m)
	}
	for _, c := range []struct{ to, text string }{{other, "other"}, {local, "node"}, {group, "first"}, {group, "second"}} {
		if _, err := s.WriteToUDPAddrPort([]byte(c.text), netip.AddrPortFrom(netip.MustParseAddr(c.to), self.Port())); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range members {
		for _, want := range []string{"first", "second"} {
			got, from := next(t, m)
			if got != want || from != self {
				t.Errorf("%q from %v, want %q from %v", got, from, want, self)
			}
		}
	}
}

// next receives a datagram.
func next(t *testing.T, c *net.UDPConn) (string, netip.AddrPort) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	n, from, err := c.ReadFromUDPAddrPort(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n]), from
}
