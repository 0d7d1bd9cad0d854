package node_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/socklnd"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/machine/timerfd"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// freePort returns a TCP port that is free on the addresses of these tests.
func freePort() uint16 {
	port, err := loopback.FreePort(netip.IPv4Unspecified())
	if err != nil {
		panic(err)
	}
	return port
}

func start(t testing.TB, cfg node.Config) *node.Node {
	t.Helper()
	n, err := node.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		if err := n.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return n
}

// TestStart: two nodes start and discover each other; each has all parts that a protocol
// needs. One of them dials only.
func TestStart(t *testing.T) {
	port := freePort()
	a := start(t, node.Config{Networks: "tcp(127.0.83.1),tcp1(127.0.83.1)", AcceptPort: port})
	b := start(t, node.Config{Networks: "tcp(127.0.83.2)", AcceptPort: port, DialOnly: true})
	for _, n := range []*node.Node{a, b} {
		if err := n.Table().Ready(); err != nil {
			t.Error(err)
		}
	}
	if got := len(a.NIDs()); got != 2 || a.NIDs()[0].String() != "127.0.83.1@tcp" {
		t.Errorf("NIDs %v", a.NIDs())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	p, err := b.Discovery().Discover(ctx, nid.MustParse("127.0.83.1@tcp"), false)
	if err != nil || p.Primary != a.NIDs()[0] || !p.Flags.Has(lnet.PeerMultiRail) {
		t.Errorf("b knows of a: %+v, %v", p, err)
	}
	if ids := a.LNet().IDs(); !ids[0].NID.IsLo() {
		t.Errorf("the first NI is %v, want 0@lo", ids[0])
	}
}

// TestStartErrors: every error advises what to do, and nothing is left open.
func TestStartErrors(t *testing.T) {
	port := freePort()
	start(t, node.Config{Networks: "tcp(127.0.83.3)", AcceptPort: port})
	for _, test := range []struct {
		name, networks string
		port           uint16
		err            error
		says           string
	}{
		{"taken", "tcp(127.0.83.3)", port, syscall.EADDRINUSE, "another AcceptPort on all nodes"},
		{"second NI taken", "tcp1(127.0.83.4),tcp(127.0.83.3)", port, syscall.EADDRINUSE, "tcp(127.0.83.3)"},
		{"privileged port", "tcp(127.0.83.5)", 0, syscall.EACCES, "above 1023"},
		{"foreign address", "tcp(192.0.2.1)", port, syscall.EADDRNOTAVAIL, "'ip address'"},
		{"foreign address on RDMA", "o2ib(192.0.2.1)", port, syscall.EADDRNOTAVAIL, "'ip address'"},
		{"no such interface", "tcp(no-such-if)", port, syscall.ENETDOWN, "lists interfaces"},
		{"no driver", "gni(eth0)", port, syscall.EINVAL, "drivers for tcp, o2ib and lo"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.err == syscall.EACCES && mayListen(t) {
				t.Skip("this user may listen at port 988")
			}
			n, err := node.Start(node.Config{Networks: test.networks, AcceptPort: test.port})
			if n != nil || !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("%v, want %v, and %q in it", err, test.err, test.says)
			}
			if _, ok := errors.AsType[*node.StartError](err); !ok {
				t.Errorf("a %T", err)
			}
		})
	}
	_, err := node.Start(node.Config{Networks: "tcp(eth0"})
	if _, ok := errors.AsType[*networks.Error](err); !ok {
		t.Errorf("networks that cannot be read: %v", err)
	}
	if _, err := node.Start(node.Config{TCP: socklnd.Config{Accept: "everybody"}}); err == nil {
		t.Error("an accept mode that there is not")
	}
}

// mayListen reports whether this user may listen at the default accept port, 988.
func mayListen(t *testing.T) bool {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.83.6:988")
	if err == nil {
		l.Close()
	}
	return !errors.Is(err, syscall.EACCES)
}

// TestAddNI: an NI can be added to a running node, but not after Close.
func TestAddNI(t *testing.T) {
	n := start(t, node.Config{Networks: "lo", AcceptPort: freePort(), Tunables: lnd.Tunables{PeerCredits: 3}})
	if len(n.NIDs()) != 0 {
		t.Errorf("NIDs %v of a node that is on no network", n.NIDs())
	}
	on := lnd.Config{Net: nid.MustParseNet("tcp"), Interface: "127.0.83.7"}
	ni, err := n.AddNI(on)
	if err != nil {
		t.Fatal(err)
	}
	if got := n.LNet().Snapshot().NIs[1].Tunables.PeerCredits; got != 3 {
		t.Errorf("%v has %d peer credits, want those of the configuration", ni.NID(), got)
	}
	if _, err = n.AddNI(on); !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EEXIST) {
		t.Errorf("the same again: %v", err)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	on.Net = nid.MustParseNet("tcp1")
	if _, err := n.AddNI(on); !errors.Is(err, syscall.ESHUTDOWN) || !strings.Contains(err.Error(), "start another one") {
		t.Errorf("after Close: %v", err)
	}
}

// TestConfig: a configuration that is given for a part of the node is used, but a field of
// Config itself takes precedence. The wrapper is applied to every driver.
func TestConfig(t *testing.T) {
	clock, wrapped := machine.RealClock(), map[nid.NetType]int{}
	n := start(t, node.Config{
		Networks: "lo", LNet: lnet.Config{Incarnation: 7, Clock: machine.RealClock(), PID: 9}, Clock: clock,
		Discovery: discovery.Config{Off: true},
		Wrap:      func(d lnd.Driver) lnd.Driver { wrapped[d.Type()]++; return d },
	})
	if l := n.LNet(); l.Incarnation() != 7 || l.Clock() != clock || l.PID() != 9 || n.Discovery().Discovery() {
		t.Errorf("incarnation %d, clock %v, PID %d, discovery %v", l.Incarnation(), l.Clock(), l.PID(), n.Discovery().Discovery())
	}
	if wrapped[nid.Lo] != 1 || wrapped[nid.TCP] != 1 || wrapped[nid.O2IB] != 1 {
		t.Errorf("wrapped %v", wrapped)
	}
	if err := n.Table().Ready(); err != nil {
		t.Errorf("discovery is off: %v", err) // the table must be ready: a node whose discovery is off still answers pings
	}
}

// TestOwnClock starts a node without a clock in its configuration: the node makes a timerfd.Clock, whose timers do
// not slow small messages down. Close ends the goroutine of that clock, or else TestMain reports the goroutine as
// left. Timers of the clock still run after Close.
func TestOwnClock(t *testing.T) {
	n, err := node.Start(node.Config{Networks: "lo"})
	if err != nil {
		t.Fatal(err)
	}
	clock, ok := n.LNet().Clock().(*timerfd.Clock)
	if !ok {
		t.Fatalf("the clock is a %T, want a *timerfd.Clock", n.LNet().Clock())
	}
	for range 2 {
		if err := n.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	ran := make(chan struct{})
	clock.AfterFunc(1, func() { close(ran) })
	select {
	case <-ran:
	case <-time.After(60 * time.Second):
		t.Error("a timer of the clock does not run after Close")
	}
}
