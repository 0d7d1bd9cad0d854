package socklnd

import (
	"errors"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
)

// TestMulticastRemadeInterface: the interface of an NI is deleted and made again with another index, as is done with VLANs
// and bonds. When the link is up again, the NI joins its groups there and sends by it.
func TestMulticastRemadeInterface(t *testing.T) {
	spec.Covers(t, "RM-A22")
	s := newStreet(t, Config{})
	a, b := s.ends[0], s.ends[1]
	s.cast(100)
	b.wantArrivals(1)
	s.cable.Remake("10.8.0.1/24", "10.8.0.2/24")
	for i, h := range s.hosts {
		_ = h.Do(func() error {
			s.ends[i].ni.LinkUp()
			return nil
		})
	}
	s.cast(100)
	if errs := a.wantFinalized(2); errs[1] != nil {
		t.Errorf("ended with %v", errs[1])
	}
	b.wantArrivals(2)
	for i, h := range s.hosts {
		_ = h.Do(func() error {
			link, _ := net.InterfaceByName("eth0")
			if got := int(s.ends[i].ni.cast.index.Load()); got != link.Index {
				t.Errorf("interface %d, want %d", got, link.Index)
			}
			return errors.Join(s.ends[i].ni.Leave(1), s.ends[i].ni.Join(1))
		})
	}
	s.cast(100)
	b.wantArrivals(3)
}

// TestMulticastSendsAgain: the interfaces of two NIs are made again, and LinkUp is not called. One NI notices it when it
// joins a group, the other one when a datagram fails. Then a datagram arrives again.
func TestMulticastSendsAgain(t *testing.T) {
	spec.Covers(t, "RM-A22")
	s := newStreet(t, Config{})
	a, b := s.ends[0], s.ends[1]
	s.cast(100)
	b.wantArrivals(1)
	s.cable.Remake("10.8.0.1/24", "10.8.0.2/24")
	if err := s.hosts[1].Do(func() error { return b.ni.Join(2) }); err != nil {
		t.Fatal(err)
	}
	for n, begin := 2, time.Now(); ; n++ {
		s.cast(100)
		errs := a.wantFinalized(n)
		if errs[n-1] == nil {
			break
		}
		if !errors.Is(errs[n-1], syscall.ENODEV) || time.Since(begin) > 60*time.Second {
			t.Fatalf("datagram %d ended with %v", n, errs[n-1])
		}
		runtime.Gosched()
	}
	b.wantArrivals(2)
}

// TestMulticastManyInterfaces: the system allows few memberships for each socket, and those at interfaces that are gone
// count. So an NI leaves its groups there.
func TestMulticastManyInterfaces(t *testing.T) {
	s := newStreet(t, Config{})
	for g := lnd.Group(2); g <= 12; g++ {
		if err := s.hosts[0].Do(func() error { return s.ends[0].ni.Join(g) }); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		s.cable.Remake("10.8.0.1/24", "10.8.0.2/24")
		for i, h := range s.hosts {
			_ = h.Do(func() error {
				s.ends[i].ni.LinkUp()
				return nil
			})
		}
	}
	if err := s.hosts[0].Do(func() error { return s.ends[0].ni.Join(13) }); err != nil {
		t.Error(err)
	}
	s.cast(100)
	s.ends[1].wantArrivals(1)
}
