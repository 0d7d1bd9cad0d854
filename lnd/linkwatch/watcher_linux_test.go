package linkwatch_test

import (
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"

	"ulnet/lnd/linkwatch"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
)

var (
	addr4 = netip.MustParseAddr("10.7.0.1")
	addr6 = netip.MustParseAddr("fd00::1")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a Watcher on a test host. A test can wait until the Watcher reports a state of an address
// (await).
type watched struct {
	t       *testing.T
	w       *linkwatch.Watcher
	changed chan struct{}
	blocked sync.Mutex // locked by each call of changed, so that a test can block it
}

// block lets the watcher read nothing more until resume is called.
func (s *watched) block() (resume func()) {
	s.blocked.Lock()
	s.w.Again()
	return s.blocked.Unlock
}

func watch(t *testing.T, h *netlab.Host) *watched {
	t.Helper()
	s := &watched{t: t, changed: make(chan struct{}, 1)}
	if err := h.Do(func() (err error) {
		s.w, err = linkwatch.Start(func() {
			s.blocked.Lock()
			defer s.blocked.Unlock()
			select {
			case s.changed <- struct{}{}:
			default:
			}
		})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.w.Close(), s.w.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// await waits until the state of an address is the wanted one, and returns how long that
// took.
func (s *watched) await(a netip.Addr, want error) time.Duration {
	s.t.Helper()
	began := time.Now()
	late := time.After(60 * time.Second)
	for {
		got := s.w.State(a)
		if errors.Is(got, want) && (got == nil) == (want == nil) {
			if e, ok := errors.AsType[*linkwatch.StateError](got); want != nil && (!ok || e.Interface != "eth0" || e.Addr != a) {
				s.t.Errorf("state of %v: %v: want the interface and the address in it", a, got)
			}
			return time.Since(began)
		}
		select {
		case <-s.changed:
		case <-late:
			s.t.Fatalf("state of %v: %v, want %v", a, got, want)
		}
	}
}

// TestWatcher: changes of an interface are reported, usually within 0.2 s. The bound is long enough for a
// machine that is busy with other namespaces.
func TestWatcher(t *testing.T) {
	spec.Covers(t, "NS-8")
	t.Parallel()
	lab := netlab.New(t)
	own, other := lab.Host("own"), lab.Host("other")
	cable := lab.Cable(own, "10.7.0.1/24", other, "10.7.0.2/24")
	lab.Cable(own, "fd00::1/64", other, "fd00::2/64")
	w := watch(t, own)
	w.await(addr4, nil)
	w.await(addr6, nil)
	do := func(f func(l netlink.Link) error) func() {
		return func() {
			t.Helper()
			if err := own.Do(func() error {
				l, err := netlink.LinkByName("eth0")
				if err == nil {
					err = f(l)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	address := &netlink.Addr{IPNet: netlink.NewIPNet(addr4.AsSlice())}
	address.Mask = []byte{255, 255, 255, 0}
	for _, c := range []struct {
		name string
		do   func()
		want error
	}{
		{"the other end is pulled", func() { cable.Pull(other) }, linkwatch.ErrNoCarrier},
		{"and plugged", func() { cable.Plug(other) }, nil},
		{"the other end is pulled again", func() { cable.Pull(other) }, linkwatch.ErrNoCarrier},
		{"and plugged again", func() { cable.Plug(other) }, nil},
		{"the own end is brought down", func() { cable.Pull(own) }, linkwatch.ErrDown},
		{"and up", func() { cable.Plug(own) }, nil},
		{"the address is removed", do(func(l netlink.Link) error { return netlink.AddrDel(l, address) }), linkwatch.ErrNoAddress},
		{"and added", do(func(l netlink.Link) error { return netlink.AddrAdd(l, address) }), nil},
		{"the interface is removed", do(netlink.LinkDel), linkwatch.ErrGone},
	} {
		var ended time.Time
		var did sync.WaitGroup
		began := time.Now()
		did.Go(func() { w.await(addr4, c.want); ended = time.Now() })
		c.do() // do waits until the kernel shows the change, and may return after the watcher has reported the change
		did.Wait()
		took := ended.Sub(began)
		t.Logf("%s: after %v", c.name, took.Round(time.Millisecond))
		if took > 10*time.Second {
			t.Errorf("%s: told after %v, want 10 s at most", c.name, took)
		}
		if err := w.w.State(addr6); err != nil {
			t.Errorf("%s: the other interface: %v", c.name, err)
		}
	}
}

// TestOverflow: the watcher finds out about a change for which the kernel had no room.
func TestOverflow(t *testing.T) {
	spec.Covers(t, "NS-9")
	t.Parallel()
	lab := netlab.New(t)
	own, other := lab.Host("own"), lab.Host("other")
	lab.Cable(own, "10.7.0.1/24", other, "10.7.0.2/24")
	s := watch(t, own)
	s.await(addr4, nil)
	resume := s.block()
	if err := own.Do(func() error {
		l, err := netlink.LinkByName("eth0")
		for i := 0; i < 12_000 && err == nil; i++ { // the kernel reports each change in about a kilobyte, too much for the 2 MiB of the socket
			err = netlink.LinkSetMTU(l, 1300+i%2)
		}
		return errors.Join(err, netlink.LinkSetDown(l))
	}); err != nil {
		t.Fatal(err)
	}
	resume()
	s.await(addr4, linkwatch.ErrDown)
	if s.w.Stats().Lost == 0 {
		t.Error("nothing was lost: the test shows nothing")
	}
}
