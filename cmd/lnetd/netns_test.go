//go:build linux

package main_test

import (
	"slices"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/netlab/netem"
	"ulnet/lnet/nid"
)

// kernelPort is the port of kernel nodes, where lnetd accepts privileged
// source ports only.
const kernelPort = 988

// twoHosts is two hosts connected by a wire, each with an lnetd.
type twoHosts struct {
	on           network
	a, b         *lnetdtest.Daemon
	hostA, hostB *netlab.Host
	wire         *netlab.Wire
	aa, bb       string // NIDs of the two hosts
	start        func(*netlab.Host) *lnetdtest.Daemon
}

// hostsOption changes what newTwoHosts does.
type hostsOption int

// usualKeepalive leaves TCP's keepalive as it is: an idle connection to a host that is dead stays open
// for a long time.
const usualKeepalive hostsOption = 1

func newTwoHosts(t *testing.T, on network, options ...hostsOption) *twoHosts {
	t.Helper()
	lab := netlab.New(t)
	a, b := lab.Host("a"), lab.Host("b")
	h := &twoHosts{on: on, hostA: a, hostB: b, aa: on.nid("10.1.0.1"), bb: on.nid("10.1.0.2")}
	commands := lnetdtest.Build(t)
	h.wire = lab.Wire(a, "10.1.0.1/24", b, "10.1.0.2/24", 1)
	settings := on.eager(2*time.Second, time.Second, 4*time.Second)
	if on.kind == "tcp" && !slices.Contains(options, usualKeepalive) {
		// A node that knows that its link is down sends nothing, so only TCP's keepalive ends its
		// connections.
		settings = append(settings, "keepalive_idle: 3", "keepalive_intvl: 1", "keepalive_count: 3")
	}
	h.start = func(host *netlab.Host) *lnetdtest.Daemon {
		return commands.Start(t, lnetdtest.Config{
			Networks: on.eth0(), Port: kernelPort, Settings: settings, Within: host.Do,
		})
	}
	h.a, h.b = h.start(a), h.start(b)
	return h
}

// ping makes a daemon ping a NID, over the control socket: a start of lnetctl costs more than the ping.
func ping(t *testing.T, d *lnetdtest.Daemon, id string, timeout time.Duration) error {
	t.Helper()
	target := nid.ProcessID{NID: nid.MustParse(id), PID: nid.LustrePID}
	reply, err := node.OpPing.Call(t.Context(), d.Control(), node.PingRequest{Target: target, Timeout: timeout})
	if err == nil && !slices.ContainsFunc(reply.NIs, func(ni node.PingedNI) bool { return ni.NID == target.NID }) {
		t.Errorf("ping of %s answers without that NID: %+v", id, reply)
	}
	return err
}

func mustPing(t *testing.T, d *lnetdtest.Daemon, id string) {
	t.Helper()
	if err := ping(t, d, id, 20*time.Second); err != nil {
		t.Fatal(err)
	}
}

func wantNoAnswer(t *testing.T, d *lnetdtest.Daemon, id string) {
	t.Helper()
	if err := ping(t, d, id, time.Second); err == nil || !control.FromNode(err) {
		t.Errorf("ping over a pulled cable: got %v, want no answer", err)
	}
}

// TestTwoHosts runs two lnetd, in two network namespaces that a wire connects.
func TestTwoHosts(t *testing.T) {
	t.Parallel()
	onNetworks(t, testTwoHosts)
}

func testTwoHosts(t *testing.T, on network) {
	t.Run("ping each other", func(t *testing.T) {
		h := newTwoHosts(t, on)
		mustPing(t, h.a, h.bb)
		mustPing(t, h.b, h.aa)
	})
	if testing.Short() {
		return
	}

	t.Run("unplugged before the first connection", func(t *testing.T) {
		h := newTwoHosts(t, on)
		h.wire.Pull(h.hostB)
		wantNoAnswer(t, h.a, h.bb)
		h.wire.Plug(h.hostB)
		h.awaitPing(t, h.a, h.bb)
		h.awaitPing(t, h.b, h.aa)
	})

	t.Run("unplugged while connected", func(t *testing.T) {
		h := newTwoHosts(t, on)
		mustPing(t, h.a, h.bb)
		mustPing(t, h.b, h.aa)
		h.wire.Pull(h.hostB)
		wantNoAnswer(t, h.a, h.bb)
		h.a.Until(30*time.Second, "end of the dead connections", func() bool { return h.a.Connections() == 0 })
		wantNoAnswer(t, h.a, h.bb)
		h.wire.Plug(h.hostB)
		h.awaitPing(t, h.a, h.bb)
		h.awaitPing(t, h.b, h.aa)
	})
}

// TestSpoiledWire: nodes reach each other whatever the wire does to their frames, over new
// connections as well as existing ones.
func TestSpoiledWire(t *testing.T) {
	t.Parallel()
	onFirst(t, testSpoiledWire)
}

func testSpoiledWire(t *testing.T, on network) {
	const ms = time.Millisecond
	plans := []netem.Plan{
		{Delay: 50 * ms, Jitter: 20 * ms},
		{Rate: 1_000_000},
		{Loss: 0.1},
		{Duplicate: 0.5},
		{Corrupt: 0.1},
		{Reorder: 0.5, HoldBack: 5 * ms},
		{Delay: 10 * ms, Loss: 0.05, Duplicate: 0.1, Corrupt: 0.05, Reorder: 0.1},
	}
	h := newTwoHosts(t, on)
	for _, p := range effort.Some(len(plans)-1, plans) {
		t.Run(p.String(), func(t *testing.T) {
			h.wire.Spoil(h.hostA, p)
			h.wire.Spoil(h.hostB, p)
			for range 3 {
				h.awaitPing(t, h.a, h.bb)
				h.awaitPing(t, h.b, h.aa)
			}
			h.b.Kill()
			h.b = h.start(h.hostB)
			h.awaitPing(t, h.b, h.aa)
			h.awaitPing(t, h.a, h.bb)
		})
	}
}

// TestProcessFaults kills and pauses one side.
func TestProcessFaults(t *testing.T) {
	t.Parallel()
	onNetworks(t, testProcessFaults)
}

func testProcessFaults(t *testing.T, on network) {
	h := newTwoHosts(t, on, usualKeepalive) // with a short keepalive the peer could notice the death in diesUnheard before the new daemon connects
	mustPing(t, h.a, h.bb)

	h.b.Freeze()
	wantNoAnswer(t, h.a, h.bb)
	h.b.Thaw()
	h.awaitPing(t, h.a, h.bb)

	h.b.Kill()
	wantNoAnswer(t, h.a, h.bb)
	h.b = h.start(h.hostB)
	h.awaitPing(t, h.a, h.bb)
	h.awaitPing(t, h.b, h.aa)
	h.diesUnheard(t)
}

// diesUnheard kills a host's daemon so that its peer cannot notice the death, and learns of it
// only from the next incarnation.
func (h *twoHosts) diesUnheard(t *testing.T) {
	t.Helper()
	// The kernel of the host goes on resetting the TCP connections of the dead daemon. So the peer
	// may notice the death before the new daemon connects; the test then tries again.
	for range 10 {
		h.wire.Spoil(h.hostB, netem.Plan{Loss: 1})
		h.b.Kill()
		h.b = h.start(h.hostB)
		h.wire.Spoil(h.hostB, netem.Plan{})
		h.awaitPing(t, h.b, h.aa)
		if h.a.Count(h.on.restarted()) > 0 {
			return
		}
		h.awaitPing(t, h.a, h.bb)
	}
	t.Errorf("no restart was noticed: %v", h.a.Reasons())
}

// awaitPing pings until there is an answer: a driver waits between attempts to reconnect.
func (h *twoHosts) awaitPing(t *testing.T, d *lnetdtest.Daemon, id string) {
	t.Helper()
	d.Until(90*time.Second, "answer of "+id, func() bool { return ping(t, d, id, time.Second) == nil })
}
