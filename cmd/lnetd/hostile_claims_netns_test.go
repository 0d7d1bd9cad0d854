//go:build linux

package main_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/node"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// claimPort is above 1023: connections to it need no privileged source port.
const claimPort = 7988

// claims has two nodes with two rails each. An attacker on one of the rails, the stranger, has
// an ordinary connection to one of the nodes, the victim.
type claims struct {
	t        *testing.T
	victim   *lnetdtest.Daemon
	other    *lnetdtest.Daemon
	rails    []string // the NIDs of the node other, its primary NID first
	stranger *lnetdtest.Peer
	lies     *net.TCPConn
}

func newClaims(t *testing.T) *claims {
	t.Helper()
	lab := netlab.New(t)
	switches := []*netlab.Host{lab.Switch("first"), lab.Switch("second")}
	commands := lnetdtest.Build(t)
	start := func(name string, number int) *lnetdtest.Daemon {
		host := lab.Host(name)
		for i, s := range switches {
			lab.Cable(host, fmt.Sprintf("10.4.%d.%d/24", i, number), s, "")
		}
		return commands.Start(t, lnetdtest.Config{
			Networks: "tcp(eth0),tcp1(eth1)", Port: claimPort, Within: host.Do,
			Settings: []string{"lnet_transaction_timeout: 20"},
		})
	}
	c := &claims{t: t, victim: start("victim", 1), other: start("other", 2), rails: []string{"10.4.0.2@tcp", "10.4.1.2@tcp1"}}
	host := lab.Host("stranger")
	lab.Cable(host, "10.4.0.66/24", switches[0], "")
	id := nid.ProcessID{NID: nid.MustParse("10.4.0.66@tcp"), PID: nid.LustrePID}
	c.stranger = lnetdtest.NewPeer(t, id, id.NID.Addr(), netip.AddrPortFrom(netip.MustParseAddr("10.4.0.1"), claimPort))
	if err := host.Do(func() error {
		c.lies = c.stranger.ConnectAll()[0]
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return c
}

// claim pushes a ping info in which the stranger lists the given NIDs as its own.
func (c *claims) claim(sequence uint32, ids ...nid.NID) {
	c.t.Helper()
	c.tell(wire.StatusUp, sequence, ids...)
}

// tell pushes a ping info in which the stranger lists the given NIDs as its own, all with the given status.
func (c *claims) tell(status wire.Status, sequence uint32, ids ...nid.NID) {
	c.t.Helper()
	info := wire.PingInfo{
		Features: wire.FeatureNIStatus | wire.FeatureRoutingDisabled | wire.FeatureMultiRail | wire.FeatureDiscovery,
		PID:      nid.LustrePID, Sequence: sequence,
	}
	for _, id := range ids {
		info.NIs = append(info.NIs, wire.NIStatus{NID: id, Status: status})
	}
	payload, err := info.AppendBinary(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	h := c.stranger.Header()
	h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: wire.PingMatchBits, Portal: wire.PingPortal})
	h.PayloadLength = uint32(len(payload))
	if _, err := c.lies.Write(c.stranger.Message(lnetHeader, h, payload)); err != nil {
		c.t.Fatal(err)
	}
}

// known returns the victim's entry of the peer with a NID.
func (c *claims) known(id string) (p node.KnownPeer) {
	c.t.Helper()
	page, err := node.OpPeers.Call(c.t.Context(), c.victim.Control(), node.PeersRequest{NID: nid.MustParse(id)})
	if err != nil || len(page.Known) != 1 {
		c.t.Errorf("peer %s: %+v, %v", id, page, err)
		return p
	}
	return page.Known[0]
}

// wantApart checks that for the victim, the stranger and the other node are two different peers.
func (c *claims) wantApart() {
	c.t.Helper()
	for id, rails := range map[string][]string{c.rails[0]: c.rails, c.stranger.ID.NID.String(): {c.stranger.ID.NID.String()}} {
		p := c.known(id)
		var got []string
		for _, ni := range p.NIs {
			got = append(got, ni.NID.String())
		}
		if !slices.Equal(got, rails) || p.Primary.String() != rails[0] {
			c.t.Errorf("%s is known with the NIDs %q, primary %v; want %q", id, got, p.Primary, rails)
		}
	}
}

// wantHonest checks that honest traffic works.
func (c *claims) wantHonest() {
	c.t.Helper()
	for _, id := range c.rails {
		mustPing(c.t, c.victim, id)
		out, err := c.victim.Lnetctl(c.t.Context(), "discover", "--timeout", "20s", id)
		if err != nil || !strings.Contains(out, "primary nid: "+c.rails[0]) || strings.Count(out, "- nid: ") != 2 {
			c.t.Errorf("discover %s: %v\n%s", id, err, out)
		}
	}
	mustPing(c.t, c.other, "10.4.0.1@tcp")
	if out, err := c.other.Lnetctl(c.t.Context(), "discover", "--timeout", "20s", "10.4.1.1@tcp1"); err != nil || !strings.Contains(out, "primary nid: 10.4.0.1@tcp") {
		c.t.Errorf("discover the victim: %v\n%s", err, out)
	}
}

// TestClaimedNames: a stranger with an ordinary connection claims the NIDs of another node,
// including the primary NID. It does so once before the victim has exchanged messages with that
// node, and again and again for 5 s after that. The victim never takes the stranger and that node
// for the same peer, and honest traffic works at once.
func TestClaimedNames(t *testing.T) {
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("real daemons in namespaces; make test-long runs it")
	}
	c := newClaims(t)
	stolen := []nid.NID{nid.MustParse(c.rails[0]), c.stranger.ID.NID, nid.MustParse(c.rails[1])}
	c.claim(1<<32-1, stolen...)
	c.victim.Until(reaction, "two denials", func() bool { return c.victim.Status().Discovery.Denied == 2 })
	c.wantHonest()
	c.wantApart()

	var crowd []nid.NID
	for i := range 180 {
		crowd = append(crowd, nid.MustParse(fmt.Sprintf("10.4.0.%d@tcp", 70+i)))
	}
	end := time.Now().Add(5 * time.Second)
	for n := uint32(0); time.Now().Before(end); n++ {
		c.claim(n, append(stolen, crowd...)...)
	}
	c.wantHonest()
	c.wantApart()
	if s := c.victim.Status().Discovery; s.Probes > 60 {
		t.Errorf("the stranger had the victim send %d pings in 5 s", s.Probes)
	}
}

// TestClaimedStatus: a stranger reports the NIDs of another node as down, and its own NIDs as
// up and down in quick succession. The other node's NIDs stay up and are used, and the victim
// sends nothing because of the reports. The last of the stranger's reports about itself counts.
func TestClaimedStatus(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "NS-6", "NS-11")
	c := newClaims(t)
	c.wantHonest()
	own := c.stranger.ID.NID
	all := []nid.NID{own, nid.MustParse(c.rails[0]), nid.MustParse(c.rails[1])}
	c.tell(wire.StatusDown, 1, all...)
	c.victim.Until(reaction, "two denials", func() bool { return c.victim.Status().Discovery.Denied == 2 })
	before := c.victim.Status().Discovery
	const pushes = 2000
	for i := range uint32(pushes) {
		status := wire.StatusUp
		if i%2 == 1 {
			status = wire.StatusDown
		}
		c.tell(status, 2+i/3, own)
	}
	c.victim.Until(reaction, "all pushes", func() bool {
		return c.victim.Status().Discovery.PushesReceived >= before.PushesReceived+pushes
	})
	c.wantHonest()
	after := c.victim.Status().Discovery
	if after.Pings > before.Pings+8 || after.Pushes > before.Pushes+8 || after.Probes > before.Probes {
		t.Errorf("the stranger caused %+v, before %+v", after, before)
	}
	for _, id := range c.rails {
		for _, ni := range c.known(id).NIs {
			if ni.Status != "up" {
				t.Errorf("%v of the other node is %s", ni.NID, ni.Status)
			}
		}
	}
	if p := c.known(own.String()); len(p.NIs) != 1 || p.NIs[0].Status != "down" {
		t.Errorf("the stranger is known as %+v, want down: its last word", p)
	}
}
