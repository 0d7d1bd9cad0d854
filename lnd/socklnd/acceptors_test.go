package socklnd

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// Request, HELLO and answer as in hello_passive_test.go, for net tcp1.
var (
	request1   = onTCP1(request)
	helloCtl1  = onTCP1(helloCtl)
	answerCtl1 = onTCP1(answerCtl)
)

// onTCP1 changes tcp to tcp1 in all NIDs.
func onTCP1(record string) string { return strings.ReplaceAll(record, "0a00000200", "0a01000200") }

// startNets brings up NIs on addr of the nets tcp<number>, in this order.
func startNets(t *testing.T, cfg Config, addr string, numbers ...uint16) (*Driver, []*host) {
	t.Helper()
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var hosts []*host
	for _, number := range numbers {
		hosts = append(hosts, startOn(t, d, addr, onNet(number)))
	}
	return d, hosts
}

func onNet(number uint16) func(*lnd.Config) {
	return func(c *lnd.Config) { c.Net = nid.MakeNet(nid.TCP, number) }
}

// TestTwoNets: the NIs of two nets on one address, at both ends, reach each other,
// whichever started first.
func TestTwoNets(t *testing.T) {
	for name, numbers := range map[string][]uint16{"tcp first": {0, 1}, "tcp1 first": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := newMemNet()
				_, a := startNets(t, n.config(Config{}), "10.0.0.1", numbers...)
				_, b := startNets(t, n.config(Config{}), "10.0.0.2", numbers...)
				for i := range numbers {
					a[i].put(b[i].id(), pattern(8))
					if got := b[i].wantArrivals(1)[0]; got.from != a[i].id() {
						t.Errorf("message from %v, want %v", got.from, a[i].id())
					}
					b[i].put(a[i].id(), pattern(8))
					a[i].wantArrivals(1)
				}
				ports := n.ports()
				slices.Sort(ports)
				if unique := slices.Compact(slices.Clone(ports)); len(unique) != len(ports) {
					t.Errorf("source ports %v", ports)
				}
				if x, y := b[0].ni.Snapshot().Listen, b[1].ni.Snapshot().Listen; x != y || !x.IsValid() {
					t.Errorf("listening on %v and %v", x, y)
				}
			})
		})
	}
}

// TestTwoNetsDialling: NIs that do not listen may share an address, too.
func TestTwoNetsDialling(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		_, a := startNets(t, n.config(Config{Accept: AcceptNone}), "10.0.0.1", 0, 1)
		_, b := startNets(t, n.config(Config{}), "10.0.0.2", 0, 1)
		for i := range a {
			a[i].put(b[i].id(), pattern(8))
			b[i].wantArrivals(1)
			if s := a[i].ni.Snapshot(); s.Listen.IsValid() {
				t.Errorf("listening on %v", s.Listen)
			}
		}
	})
}

// TestSharedRefusals: a connection that is refused before its NI is known is counted once, by
// the oldest NI. Any other refused connection is counted by the NI that it asked for.
func TestSharedRefusals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		_, hosts := startNets(t, n.config(Config{}), "10.0.0.2", 0, 1)
		for _, tt := range []struct {
			send string
			why  Reason
			by   int
		}{
			{"deadbeef", AcceptorMagic, 0},
			{strings.Replace(request, "0a00000200", "0a02000200", 1), ForeignNID, 0},
			{request + "12345678", HelloMagic, 0},
			{request1 + helloCtl1[:35], HelloTimeout, 1},
		} {
			p := n.connect(t, "10.0.0.7:1000", "10.0.0.2:988")
			go p.send(tt.send)
			p.expectEnd()
			synctest.Wait()
			hosts[tt.by].wantCount(tt.why, 1)
			hosts[1-tt.by].wantCount(tt.why, 0)
		}
		p := n.connect(t, "10.0.0.7:1000", "10.0.0.2:988")
		go p.send(request1 + "63697245 09000000")
		p.expect(onTCP1(versionRefused))
		p.expectEnd()
	})
}

// TestSharedShutdown: when an NI ends, its own handshakes end and no others; the last NI closes
// the listener.
func TestSharedShutdown(t *testing.T) {
	for name, first := range map[string]int{"the oldest first": 0, "the oldest last": 1} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := newMemNet()
				d, hosts := startNets(t, n.config(Config{}), "10.0.0.2", 0, 1)
				requests := []string{request, request1}
				hellos, answers := []string{helloCtl, helloCtl1}, []string{answerCtl, answerCtl1}
				last := 1 - first

				// Three handshakes: with the NI that ends, with the other NI, and one that has not named an NI.
				var probes []*probe
				for i, opening := range []string{requests[first], requests[last], ""} {
					probes = append(probes, n.connect(t, netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(1000+i)).String(), "10.0.0.2:988"))
					probes[i].send(opening)
				}
				synctest.Wait()
				wantHandshakes(t, hosts[0], 2) // the oldest NI also counts those that have not named an NI
				wantHandshakes(t, hosts[1], 1)
				hosts[first].stop()
				probes[0].expectEnd()
				wantHandshakes(t, hosts[last], 2)
				go probes[1].send(hellos[last])
				probes[1].expect(answers[last])
				probes[2].send(requests[first]) // request to the NI that has ended
				probes[2].expectEnd()
				synctest.Wait()
				hosts[last].wantCount(ForeignNID, 1)

				again := startOn(t, d, "10.0.0.2", onNet(uint16(first)))
				p := n.connect(t, "10.0.0.1:900", "10.0.0.2:988")
				go p.send(requests[first], hellos[first])
				p.expect(answers[first])
				again.stop()
				p.expectEnd()
				probes[1].expectOpen(time.Second)
				hosts[last].stop()
				probes[1].expectEnd()
				if _, err := n.dial(t.Context(), netip.MustParseAddrPort("10.0.0.1:899"), netip.MustParseAddrPort("10.0.0.2:988")); !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("dialled after the end: %v", err)
				}
				startOn(t, d, "10.0.0.2") // the NI starts with a new listener
				goodProbe := n.connect(t, "10.0.0.1:898", "10.0.0.2:988")
				go goodProbe.send(request, helloCtl)
				goodProbe.expect(answerCtl)
			})
		})
	}
}

func wantHandshakes(t *testing.T, h *host, want int) {
	t.Helper()
	if got := h.ni.Snapshot().Handshakes; got != want {
		t.Errorf("%v: %d handshakes, want %d", h.ni.nid, got, want)
	}
}

// TestSameNID: a second NI with the same NID is refused, and the first NI still works.
func TestSameNID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		d, hosts := startNets(t, n.config(Config{}), "10.0.0.2", 0)
		_, err := d.Startup(lnd.Config{Net: nid.MakeNet(nid.TCP, 0), Interface: "10.0.0.2", Clock: machine.RealClock()}, hosts[0])
		if !errors.Is(err, syscall.EEXIST) {
			t.Errorf("second NI: %v", err)
		}
		goodPeer(t, n, hosts[0])
	})
}
