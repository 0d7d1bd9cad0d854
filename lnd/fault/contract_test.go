package fault

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lo"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// plans are plans under which the drivers keep the contract: nothing is lost, duplicated or
// reordered.
var plans = map[string][]string{
	"no faults": nil,
	"delays":    {"latency 5µs duplicate 0%", "from 1.2.3.4@tcp cut", "loss 0%"},
}

// TestContract runs the suite that all drivers must pass (package lndtest) on wrapped drivers.
func TestContract(t *testing.T) {
	for name, rules := range plans {
		few := rules == nil && !effort.Variants() // without rules, only the case of two nodes over TCP runs, except in long runs and with -race
		t.Run("lo, "+name, func(t *testing.T) {
			if few {
				t.Skip("left to ULNET_LONG=1, and to -race without -short")
			}
			lndtest.Run(t, lndtest.Harness{Start: func(t *testing.T, up, _ lnd.Upcalls) (lnd.NI, lnd.NI) {
				ni := startUp(t, lo.Driver{}, planOf(t, rules), lnd.Config{Net: nid.MakeNet(nid.Lo, 0), Incarnation: 3}, up)
				return ni, ni
			}, Incarnation: func(lnd.NI) uint64 { return 3 }})
		})
		for sides, shared := range map[string]bool{"one node": true, "two nodes": false} {
			t.Run("socklnd, "+name+", "+sides, func(t *testing.T) {
				if few && shared {
					t.Skip("left to ULNET_LONG=1, and to -race without -short")
				}
				lndtest.Run(t, lndtest.Harness{
					Unreachable: nid.MustParse("127.0.0.9@tcp"),
					Incarnation: func(ni lnd.NI) uint64 { return uint64(ni.NID().Addr().As4()[3]) },
					Start: func(t *testing.T, a, b lnd.Upcalls) (lnd.NI, lnd.NI) {
						return startTCP(t, planOf(t, rules), planOf(t, rules), shared, a, b)
					},
				})
			})
		}
	}
}

// TestContractRDMA runs the suite on o2iblnd, wrapped with delays: GETs whose answer the driver writes to the
// memory of their sender are delayed differently from all other messages.
func TestContractRDMA(t *testing.T) {
	lndtest.Run(t, lndtest.Harness{
		Incarnation: func(ni lnd.NI) uint64 { return uint64(ni.NID().Addr().As4()[3]) },
		Start: func(t *testing.T, a, b lnd.Upcalls) (lnd.NI, lnd.NI) {
			d, err := o2iblnd.New(o2iblnd.Config{Open: softroce.Open, Timeout: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			hosts, err := loopback.FreeHosts(2)
			if err != nil {
				t.Fatal(err)
			}
			start := func(i int, up lnd.Upcalls) lnd.NI {
				return startUp(t, d, planOf(t, plans["delays"]), lnd.Config{Net: nid.MakeNet(nid.O2IB, 0), Interface: hosts[i].String(), Incarnation: uint64(hosts[i].As4()[3])}, up)
			}
			return start(0, a), start(1, b)
		},
	})
}

func planOf(t testing.TB, rules []string) *Plan {
	t.Helper()
	p := New(Config{Clock: &promptClock{machine.RealClock()}})
	for _, text := range rules {
		r, err := ParseRule(text)
		if err == nil {
			_, err = p.Add(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// promptClock is the real clock, except that its timers for very short times are exact. Those of the
// runtime take a millisecond.
type promptClock struct{ machine.Clock }

type promptTimer struct{ done atomic.Bool }

// Stop implements machine.Timer.
func (p *promptTimer) Stop() bool { return !p.done.Swap(true) }

// AfterFunc implements machine.Clock.
func (c *promptClock) AfterFunc(d time.Duration, f func()) machine.Timer {
	if d > 100*time.Microsecond {
		return struct{ machine.Timer }{c.Clock.AfterFunc(d, f)} // without Reset: later timers are this clock's too
	}
	timer := new(promptTimer)
	end := c.Now() + d
	go func() {
		for c.Now() < end && !timer.done.Load() {
			runtime.Gosched()
		}
		if !timer.done.Swap(true) {
			f()
		}
	}()
	return timer
}

func startUp(t testing.TB, d lnd.Driver, p *Plan, cfg lnd.Config, up lnd.Upcalls) lnd.NI {
	t.Helper()
	cfg.Clock = machine.RealClock()
	ni, err := Wrap(d, p).Startup(cfg, up)
	if err != nil {
		t.Fatal(err)
	}
	return ni
}

// startTCP starts two NIs on loopback addresses. They share one plan, or each has its own.
func startTCP(t testing.TB, planA, planB *Plan, shared bool, a, b lnd.Upcalls) (lnd.NI, lnd.NI) {
	t.Helper()
	d, err := socklnd.New((&ports{real: map[netip.Addr]string{}}).config())
	if err != nil {
		t.Fatal(err)
	}
	if shared {
		planB = planA
	}
	start := func(addr string, incarnation uint64, p *Plan, up lnd.Upcalls) lnd.NI {
		return startUp(t, d, p, lnd.Config{Net: nid.MakeNet(nid.TCP, 0), Interface: addr, Incarnation: incarnation}, up)
	}
	return start("127.0.0.1", 1, planA, a), start("127.0.0.2", 2, planB, b)
}

// ports lets every NI listen on a port that the system chooses.
type ports struct {
	mu   sync.Mutex
	real map[netip.Addr]string // address of an NI → address and port at which it listens; guarded by mu
}

func (p *ports) config() socklnd.Config {
	return socklnd.Config{
		Accept: socklnd.AcceptTrust,
		Listen: func(local netip.AddrPort) (net.Listener, error) {
			l, err := net.Listen("tcp", netip.AddrPortFrom(local.Addr(), 0).String())
			if err == nil {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.real[local.Addr()] = l.Addr().String()
			}
			return l, err
		},
		Dial: func(ctx context.Context, local, remote netip.AddrPort) (net.Conn, error) {
			p.mu.Lock()
			to, ok := p.real[remote.Addr()]
			p.mu.Unlock()
			if !ok {
				to = netip.AddrPortFrom(remote.Addr(), 1).String() // no program listens on port 1
			}
			from := net.TCPAddrFromAddrPort(netip.AddrPortFrom(local.Addr(), 0))
			return (&net.Dialer{LocalAddr: from}).DialContext(ctx, "tcp", to)
		},
	}
}

// TestUnwrap: Unwrap returns the NI of the driver that is wrapped.
func TestUnwrap(t *testing.T) {
	ni := startUp(t, lo.Driver{}, planOf(t, nil), lnd.Config{Net: nid.MakeNet(nid.Lo, 0)}, nil)
	lower := Unwrap(ni)
	if lower == ni || Unwrap(lower) != lower || lower.NID() != ni.NID() {
		t.Errorf("%T is wrapped, %T below", ni, lower)
	}
}
