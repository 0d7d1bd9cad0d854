package softroce

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/verbs/softroce/wire"
)

// TestGroupSocket: members of a group receive the datagrams to it, and none to another group
// or to their node. The datagrams come from the sender's address.
func TestGroupSocket(t *testing.T) {
	t.Run("IPv4", func(t *testing.T) { testGroupSocket(t, "127.0.0.2", "239.76.5.1", "239.76.5.2") })
	t.Run("IPv6", func(t *testing.T) { // the loopback interface has no IPv6 multicast
		lab := netlab.New(t)
		a, b := lab.Host("a"), lab.Host("b")
		lab.Cable(a, "fd09::1/64", b, "fd09::2/64")
		_ = a.Do(func() error {
			testGroupSocket(t, "fd09::1", "ff15::4c4e:501", "ff15::4c4e:502")
			return nil
		})
	})
}

func testGroupSocket(t *testing.T, addr, group, other string) {
	s, err := udp{}.openSocket(netip.AddrPortFrom(netip.MustParseAddr(addr), 0), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := s.castBy(); err != nil {
		t.Fatal(err)
	}
	var members []*socket
	for range 2 {
		m, err := openGroup(s.local, netip.MustParseAddr(group), 1<<17)
		if err != nil {
			t.Fatal(err)
		}
		defer m.close()
		if m.receiveBuffer < 1<<17 {
			t.Errorf("receive buffer of %d bytes", m.receiveBuffer)
		}
		if err := m.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		members = append(members, m)
	}
	for _, c := range []struct{ to, text string }{{other, "other"}, {addr, "node"}, {group, "first"}, {group, "second"}} {
		b := wire.Burst{To: netip.AddrPortFrom(netip.MustParseAddr(c.to), s.local.Port()), Segments: 1, Bytes: []byte(c.text)}
		if _, err := s.send([]wire.Burst{b}); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range members {
		var got []string
		for len(got) < 2 {
			list, err := m.receive()
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range list {
				got = append(got, string(d.Bytes))
				if d.From != s.local {
					t.Errorf("from %v, want %v", d.From, s.local)
				}
			}
		}
		if got[0] != "first" || got[1] != "second" {
			t.Errorf("%q", got)
		}
	}
}
