package socklnd

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// linkUp tells both NIs that their link is up.
func (s *street) linkUp() {
	for i, h := range s.hosts {
		_ = h.Do(func() error {
			s.ends[i].ni.LinkUp()
			return nil
		})
	}
}

// allowGroups sets how many groups the system of the second host lets a socket join.
func (s *street) allowGroups(t *testing.T, n string) {
	t.Helper()
	if err := s.hosts[1].Do(func() error {
		return os.WriteFile("/proc/sys/net/ipv4/igmp_max_memberships", []byte(n), 0) // of the namespace of this thread
	}); err != nil {
		t.Fatal(err)
	}
}

// TestMulticastRejoinFails: the interface of an NI has been made again, and the system does not let the NI join its group
// there. Join returns the error. The NI tries again each time that its link comes up or that Join is called.
func TestMulticastRejoinFails(t *testing.T) {
	spec.Covers(t, "RM-A22")
	for name, again := range map[string]func(ni *NI) error{
		"link": func(ni *NI) error { ni.LinkUp(); return nil },
		"join": func(ni *NI) error { return ni.Join(1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStreet(t, Config{})
			b := s.ends[1]
			s.allowGroups(t, "0")
			s.cable.Remake("10.8.0.1/24", "10.8.0.2/24")
			s.linkUp()
			if err := s.hosts[1].Do(func() error { return b.ni.Join(1) }); !errors.Is(err, syscall.ENOBUFS) {
				t.Fatalf("join: %v, want ENOBUFS", err)
			}
			s.allowGroups(t, "20")
			if err := s.hosts[1].Do(func() error { return again(b.ni) }); err != nil {
				t.Fatal(err)
			}
			b.ni.cast.mu.Lock()
			joined := b.ni.cast.isJoined(1)
			b.ni.cast.mu.Unlock()
			if !joined {
				t.Fatal("the group is not joined again")
			}
			s.cast(100)
			b.wantArrivals(1)
			if err := s.hosts[1].Do(func() error { return b.ni.Leave(1) }); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMulticastLeaveUnjoined: leaving a group that could not be joined again is no error.
func TestMulticastLeaveUnjoined(t *testing.T) {
	s := newStreet(t, Config{})
	b := s.ends[1]
	s.allowGroups(t, "0")
	s.cable.Remake("10.8.0.1/24", "10.8.0.2/24")
	s.linkUp()
	if err := s.hosts[1].Do(func() error { return b.ni.Leave(1) }); err != nil {
		t.Error(err)
	}
	s.allowGroups(t, "20")
	if err := s.hosts[1].Do(func() error { return b.ni.Join(1) }); err != nil {
		t.Error(err)
	}
	s.cast(100)
	b.wantArrivals(1)
}

// TestMulticastSendsDuringScan: datagrams leave while the NI looks for its address at all interfaces. The NI does that only
// if the interface in use no longer has its address.
func TestMulticastSendsDuringScan(t *testing.T) {
	s := newStreet(t, Config{})
	ni, scans := s.ends[0].ni, 0
	ni.cast.following.Lock()
	ni.cast.scan = func(a netip.Addr) *net.Interface {
		scans++
		if !ni.cast.mu.TryLock() {
			t.Error("the lock that datagrams need is held")
		} else {
			ni.cast.mu.Unlock()
		}
		return interfaceOf(a)
	}
	ni.cast.following.Unlock()
	s.linkUp()
	if scans != 0 {
		t.Errorf("%d scans without a change", scans)
	}
	s.cable.Remake("10.8.0.1/24", "10.8.0.2/24")
	s.linkUp()
	s.linkUp()
	if scans != 1 {
		t.Errorf("%d scans after a change, want 1", scans)
	}
	s.cast(100)
	s.ends[1].wantArrivals(1)
}
