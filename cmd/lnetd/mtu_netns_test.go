//go:build linux

package main_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/node"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnet/nid"
)

// twoMTUs is two hosts at a switch, each with an lnetd on RDMA.
type twoMTUs struct {
	a, b  *lnetdtest.Daemon
	hostA *netlab.Host
	linkB *netlab.Cable
}

const (
	wideAddr, narrowAddr = "10.1.0.1", "10.1.0.2"
	jumbo, standard      = 9000, 1500
)

// newTwoMTUs gives a's link an MTU of 9000, and b's link the MTU mtuB. The further settings
// extra are for a.
func newTwoMTUs(t *testing.T, mtuB int, extra ...string) *twoMTUs {
	t.Helper()
	lab := netlab.New(t)
	commands := lnetdtest.Build(t)
	a, b, sw := lab.Host("a"), lab.Host("b"), lab.Switch("sw")
	h := &twoMTUs{hostA: a}
	lab.Cable(a, wideAddr+"/24", sw, "").SetMTU(jumbo)
	h.linkB = lab.Cable(b, narrowAddr+"/24", sw, "")
	h.linkB.SetMTU(mtuB)
	start := func(host *netlab.Host, settings ...string) *lnetdtest.Daemon {
		return commands.Start(t, lnetdtest.Config{Networks: "o2ib(eth0)", Port: kernelPort, Settings: settings, Within: host.Do})
	}
	h.a, h.b = start(a, extra...), start(b)
	return h
}

// deviceMTU returns the longest payload of a packet that a daemon's device sends.
func deviceMTU(d *lnetdtest.Daemon) int {
	for _, ni := range d.Status().NIs {
		if ni.LND.Verbs != nil {
			return ni.LND.Verbs.MTU
		}
	}
	return 0
}

// TestMTUsAgree: nodes whose interfaces have different MTUs use the smaller path MTU, whichever
// of them opens the connection, and bulk data arrives in both directions.
func TestMTUsAgree(t *testing.T) {
	t.Parallel()
	for _, wideAsks := range []bool{true, false} {
		t.Run(fmt.Sprintf("the wider one asks: %v", wideAsks), func(t *testing.T) {
			h := newTwoMTUs(t, standard)
			if a, b := deviceMTU(h.a), deviceMTU(h.b); a != 4096 || b != 1024 {
				t.Fatalf("path MTUs %d and %d", a, b)
			}
			if wideAsks {
				mustPing(t, h.a, narrowAddr+"@o2ib")
			} else {
				mustPing(t, h.b, wideAddr+"@o2ib")
			}
			if n := h.a.Count(o2iblnd.RejectedMTU); (n > 0) != wideAsks {
				t.Errorf("%d requests were refused for their MTU", n)
			}
			for _, s := range []*steady{exchange(t, h.a, wideAddr, h.b, narrowAddr), exchange(t, h.b, narrowAddr, h.a, wideAddr)} {
				h.a.Until(reaction, "bulk data to "+s.from, func() bool {
					if err := s.failed.Load(); err != nil {
						t.Fatalf("bulk data to %s: %v", s.from, *err)
					}
					return s.rounds.Load() >= 2
				})
			}
		})
	}
}

// TestMTUNarrows: the link of a node gets a smaller MTU while its lnetd runs, before or after the nodes have connected. The
// nodes connect with the smaller path MTU then, and bulk data arrives.
func TestMTUNarrows(t *testing.T) {
	t.Parallel()
	for _, connected := range []bool{false, true} {
		t.Run(fmt.Sprintf("connected: %v", connected), func(t *testing.T) {
			h := newTwoMTUs(t, jumbo)
			if connected {
				mustPing(t, h.a, narrowAddr+"@o2ib")
			}
			h.linkB.SetMTU(standard)
			h.b.Until(reaction, "a smaller path MTU", func() bool { return deviceMTU(h.b) == 1024 })
			if connected { // a message on the connection that the other node has just ended would be lost with it
				h.a.Until(reaction, "the end of the connection", func() bool { return h.a.Count(o2iblnd.PeerClosed) > 0 })
			}
			mustPing(t, h.a, narrowAddr+"@o2ib")
			mustPing(t, h.b, wideAddr+"@o2ib")
			if err := readBulk(t, h); err != nil {
				t.Errorf("bulk data: %v", err)
			}
		})
	}
}

// losesLong makes host a lose packets that are longer than Ethernet's MTU, as a switch with that MTU does.
func (h *twoMTUs) losesLong(t *testing.T) {
	t.Helper()
	needs.Program(t, "nft")
	err := h.hostA.Do(func() error {
		nft := exec.Command("nft", "-f", "-")
		nft.Stdin = strings.NewReader("table ip narrow {\nchain arriving {\ntype filter hook input priority 0; udp length > 1480 drop\n}\n}\n")
		out, err := nft.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMTUOfSwitches: packets as long as the interfaces of two nodes permit do not pass the network between them,
// which neither node can see. Pings arrive, RDMA WRITEs do not. The node that gives up first logs the advice to
// compare the MTUs of both nodes and of the network between them.
func TestMTUOfSwitches(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for time-outs; skipped by -short")
	}
	t.Parallel()
	for _, tt := range []struct {
		name     string
		settings []string
		logs     func(h *twoMTUs) *lnetdtest.Daemon
		why      o2iblnd.Reason
	}{
		{"the reader gives up", []string{"o2ib:", "  timeout: 2"}, func(h *twoMTUs) *lnetdtest.Daemon { return h.a }, o2iblnd.SendTimeout},
		{"the writer gives up", nil, func(h *twoMTUs) *lnetdtest.Daemon { return h.b }, o2iblnd.TransportFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newTwoMTUs(t, jumbo, tt.settings...)
			h.losesLong(t)
			mustPing(t, h.a, narrowAddr+"@o2ib")
			mustPing(t, h.b, wideAddr+"@o2ib")
			if n := h.a.Count(o2iblnd.RejectedMTU); n != 0 || deviceMTU(h.b) != 4096 {
				t.Fatalf("%d requests were refused for their MTU, of a node with %d", n, deviceMTU(h.b))
			}
			if err := readBulk(t, h); err == nil {
				t.Fatal("bulk data arrived over a link that does not pass them")
			}
			d := tt.logs(h)
			d.Until(reaction, "count of "+tt.why.String(), func() bool { return d.Count(tt.why) > 0 })
			d.Until(reaction, "its cause in the log", func() bool {
				for line := range strings.Lines(d.Log()) {
					if strings.Contains(line, "reason="+tt.why.String()) && strings.Contains(line, "compare the MTUs of both nodes") {
						return true
					}
				}
				return false
			})
			mustPing(t, h.a, narrowAddr+"@o2ib")
		})
	}
}

// readBulk makes a read from b's memory, once.
func readBulk(t *testing.T, h *twoMTUs) error {
	t.Helper()
	offered := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		offer := node.ServeRequest{Portal: steadyPortal, MatchBits: steadyBits}
		_ = node.OpServe.CallWith(ctx, h.b.Control(), offer, strings.NewReader(strings.Repeat("x", 100_000)), func(step node.Step) error {
			if step.Ready {
				close(offered)
			}
			return nil
		})
	}()
	select {
	case <-offered:
	case <-ctx.Done():
		t.Fatal("no memory offered")
	}
	return (&steady{content: []byte(strings.Repeat("x", 100_000))}).fetch(ctx, h.a, nid.ProcessID{NID: nid.MustParse(narrowAddr + "@o2ib"), PID: nid.LustrePID}, 0, 100_000)
}
