//go:build linux

package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
)

// segment is two hosts on a switch.
type segment struct {
	t    *testing.T
	a, b *netlab.Host
	ofA  *netlab.Cable
	ofB  *netlab.Cable
}

var addrA, addrB = netip.MustParseAddr("10.7.0.1"), netip.MustParseAddr("10.7.0.2")

func newSegment(t *testing.T) *segment {
	lab := netlab.New(t)
	s := &segment{t: t, a: lab.Host("A"), b: lab.Host("B")}
	sw := lab.Switch("1")
	s.ofA = lab.Cable(s.a, addrA.String()+"/24", sw, "")
	s.ofB = lab.Cable(s.b, addrB.String()+"/24", sw, "")
	return s
}

// onA calls f in the network namespace of host A.
func (s *segment) onA(f func() error) {
	s.t.Helper()
	if err := s.a.Do(f); err != nil {
		s.t.Error(err)
	}
}

// until calls f until it returns nil, for 30 s at least.
func until(f func() error) (err error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 3000 {
		if err = f(); err == nil {
			return nil
		}
		<-tick.C
	}
	return err
}

// interfaceOf returns the name of the interface with an address.
func interfaceOf(a netip.Addr) (string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	for _, i := range all {
		addrs, _ := i.Addrs()
		for _, x := range addrs {
			if strings.HasPrefix(x.String(), a.String()+"/") {
				return i.Name, nil
			}
		}
	}
	return "", fmt.Errorf("no interface has %v", a)
}

func echo(size int) error {
	return System{}.Echo(context.Background(), addrA, addrB, size, 200*time.Millisecond)
}

// TestEcho: a packet of full size is answered, unless a part of the path has a smaller MTU.
func TestEcho(t *testing.T) {
	spec.Covers(t, "OP-43")
	s := newSegment(t)
	s.onA(func() error { return until(func() error { return echo(1500) }) })
	s.ofB.SetMTU(1400) // the switch silently drops longer packets
	s.onA(func() error {
		if err := echo(1500); !errors.Is(err, ErrNoAnswer) {
			return fmt.Errorf("1500 bytes through 1400: %v", err)
		}
		if err := until(func() error { return echo(1400) }); err != nil {
			return fmt.Errorf("1400 bytes: %w", err)
		}
		if err := echo(1600); !errors.Is(err, ErrTooLong) {
			return fmt.Errorf("more than the interface takes: %v", err)
		}
		name, err := interfaceOf(addrA)
		if err != nil {
			return err
		}
		i, err := System{}.Interface(name)
		if err != nil || i.MTU != 1500 || len(i.GRO) != 2 {
			return fmt.Errorf("%+v, %v", i, err)
		}
		r, err := System{}.Route(addrB)
		if err != nil || r != (Route{Source: addrA, MTU: 1500}) {
			return fmt.Errorf("%+v, %v", r, err)
		}
		return nil
	})
}

// TestEcho6: a packet of full size is answered over IPv6, too, on loopback.
func TestEcho6(t *testing.T) {
	lab := netlab.New(t)
	h := lab.Host("A")
	if err := h.Do(func() error {
		return until(func() error {
			return System{}.Echo(context.Background(), netip.IPv6Loopback(), netip.IPv6Loopback(), 1500, time.Second)
		})
	}); err != nil {
		t.Error(err)
	}
}

// TestClaimant: if another host has the same IP address as this host, the hardware address of the other host is found.
func TestClaimant(t *testing.T) {
	spec.Covers(t, "OP-43")
	s := newSegment(t)
	claim := func() (mac string, err error) {
		name, err := interfaceOf(addrA)
		if err != nil {
			return "", err
		}
		return System{}.Claimant(context.Background(), name, addrA, 100*time.Millisecond)
	}
	s.onA(func() error {
		if err := until(func() error { return echo(100) }); err != nil {
			return err
		}
		if mac, err := claim(); err != nil || mac != "" {
			return fmt.Errorf("alone: %q, %v", mac, err)
		}
		return nil
	})
	if err := s.b.Do(func() error { return run("ip", "addr", "add", addrA.String()+"/24", "dev", must(interfaceOf(addrB))) }); err != nil {
		needs.Missing(t, "a second address: "+err.Error())
	}
	s.onA(func() error {
		return until(func() error {
			if mac, err := claim(); err != nil || len(mac) != len("02:00:00:00:00:00") {
				return fmt.Errorf("beside another host: %q, %v", mac, err)
			}
			return nil
		})
	})
}

func must(s string, err error) string {
	if err != nil {
		return err.Error()
	}
	return s
}

func run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// TestListener: the process that listens is found, in its own network namespace only.
func TestListener(t *testing.T) {
	spec.Covers(t, "OP-43")
	s := newSegment(t)
	at := netip.AddrPortFrom(addrA, 988)
	holder := func(network string, at netip.AddrPort) string { return must(System{}.Listener(network, at)) }
	s.onA(func() error {
		if h := holder("tcp", at); h != "" {
			return fmt.Errorf("nobody listens, and %q does", h)
		}
		l, err := net.Listen("tcp4", at.String())
		if err != nil {
			return err
		}
		defer l.Close()
		u, err := net.ListenPacket("udp4", "0.0.0.0:4791")
		if err != nil {
			return err
		}
		defer u.Close()
		want := fmt.Sprintf("(%d)", os.Getpid())
		for network, at := range map[string]netip.AddrPort{"tcp": at, "udp": netip.AddrPortFrom(addrA, 4791)} {
			if h := holder(network, at); !strings.HasSuffix(h, want) {
				return fmt.Errorf("%s %v: %q, want this process, %s", network, at, h, want)
			}
		}
		if h := holder("tcp", netip.AddrPortFrom(addrA, 989)); h != "" {
			return fmt.Errorf("another port: %q", h)
		}
		return nil
	})
	if h := holder("tcp", at); h != "" {
		t.Errorf("in the namespace of the test: %q", h)
	}
}

// TestMainHolder: if systemd and another process have a socket, the other process is named.
func TestMainHolder(t *testing.T) {
	spec.Covers(t, "OP-43")
	for want, holders := range map[string][]string{
		"lnetd (42)":  {"systemd (1)", "lnetd (42)", "systemd (900)"},
		"lnetd (7)":   {"lnetd (7)", "systemd (1)"},
		"systemd (1)": {"systemd (1)"},
		"another process, or one of another user": nil,
	} {
		if got := mainHolder(holders); got != want {
			t.Errorf("%q: %q, want %q", holders, got, want)
		}
	}
}

// TestRules: the rules of a host are read, and dropped ports are found.
func TestRules(t *testing.T) {
	spec.Covers(t, "OP-42")
	s := newSegment(t)
	decisionOf := func() (result, error) {
		text, err := System{}.Ruleset(context.Background())
		if err != nil {
			return result{}, err
		}
		rules, err := parseRuleset(text)
		if err != nil {
			return result{}, err
		}
		return rules.input(packet{"tcp", 988, addrA, "eth0"}), nil
	}
	expect := func(want decision) {
		t.Helper()
		s.onA(func() error {
			if got, err := decisionOf(); err != nil || got.decision != want {
				return fmt.Errorf("%+v, %v, want decision %d", got, err, want)
			}
			return nil
		})
	}
	if _, err := decisionOf(); errors.Is(err, ErrNotThere) {
		needs.Missing(t, err.Error())
	}
	expect(accepts)
	s.a.Block(addrB.String()) // host A drops all packets from this address
	expect(depends)
	s.a.Block()
	expect(accepts)
}

// TestSysctl: settings of the namespace are read, also of an interface with a dot in its name.
func TestSysctl(t *testing.T) {
	s := newSegment(t)
	s.onA(func() error {
		name, err := interfaceOf(addrA)
		if err != nil {
			return err
		}
		for _, setting := range []string{"net.ipv4.conf." + name + ".rp_filter", "net.ipv4.conf.all.rp_filter", "net.ipv4.ip_unprivileged_port_start"} {
			if v, err := (System{}).Sysctl(setting); err != nil || v == "" {
				return fmt.Errorf("%s: %q, %w", setting, v, err)
			}
		}
		return nil
	})
	for _, bad := range []string{"../../etc/passwd", "net/ipv4", ""} {
		if v, err := (System{}).Sysctl(bad); err == nil {
			t.Errorf("%q is %q", bad, v)
		}
	}
}

// TestClock: the monotonic clock does not go back, the time since the boot is not shorter than the time of
// that clock, and the time of day is right.
func TestClock(t *testing.T) {
	first, err := System{}.Clock()
	if err != nil {
		t.Fatal(err)
	}
	then, err := System{}.Clock()
	if err != nil || then.Monotonic < first.Monotonic || then.Boot < then.Monotonic || time.Since(then.Wall).Abs() > time.Minute {
		t.Errorf("%+v, then %+v, %v", first, then, err)
	}
}
