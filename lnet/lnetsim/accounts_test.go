package lnetsim

import (
	"strings"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// accounts returns a network of two nodes that start no operations by themselves.
func accounts(t *testing.T, quality link.Quality) *network {
	t.Helper()
	n, err := newNetwork(config{Network: scenario.Network{Nodes: 2, Seed: 1, Topology: &sim.Flat{Link: quality}}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, n, time.Second)
	return n
}

// TestAccounts checks that a network's checks detect violations.
func TestAccounts(t *testing.T) {
	spec.Covers(t, "LS-3", "LS-4", "LS-5", "LS-6", "LS-8")
	holds := func(n *network, condition string) bool {
		ok, _ := n.Check(condition, scenario.Args{})
		return ok
	}
	t.Run("events", func(t *testing.T) {
		n := accounts(t, link.Quality{})
		o := &operation{member: n.members[0]}
		o.account(&portals.Event{Kind: portals.EventSend})
		o.account(&portals.Event{Kind: portals.EventAck, Unlinked: true})
		if !holds(n, "one-send") {
			t.Error("a SEND event and an ACK count as too many")
		}
		o.account(&portals.Event{Kind: portals.EventSend})
		if holds(n, "one-send") {
			t.Error("a second SEND event is not seen")
		}
		for name, last := range map[string]*portals.Event{
			"a second ACK": {Kind: portals.EventAck}, "an UNLINK after the ACK": {Kind: portals.EventUnlink, Unlinked: true},
			"an event of another MD": {Kind: portals.EventAck, MD: 1},
		} {
			n = accounts(t, link.Quality{})
			o = &operation{member: n.members[0]}
			o.account(&portals.Event{Kind: portals.EventSend})
			o.account(&portals.Event{Kind: portals.EventAck})
			o.account(last)
			if holds(n, "one-send") {
				t.Errorf("%s is not seen", name)
			}
		}
		n = accounts(t, link.Quality{})
		o = &operation{member: n.members[0]}
		o.account(&portals.Event{Kind: portals.EventUnlink, Unlinked: true})
		if holds(n, "one-send") {
			t.Error("an end without a SEND event is not seen")
		}
	})
	t.Run("deliveries", func(t *testing.T) {
		n := accounts(t, link.Quality{Duplicate: 1})
		n.Fabric.Do(0, func(*simlnd.Host) { n.members[0].begin(put, 1, false) })
		run(t, n, time.Second)
		if holds(n, "exactly-once") {
			t.Error("a PUT that the network has doubled counts as one")
		}
	})
	t.Run("places", func(t *testing.T) {
		for name, c := range map[string]struct {
			at    sim.NodeID
			size  uint32
			right bool
		}{"as sent": {1, 64, true}, "at another node": {0, 64, false}, "of another size": {1, 63, false}} {
			n := accounts(t, link.Quality{})
			n.Fabric.CutRail(1, 0, true)
			n.Fabric.Do(0, func(*simlnd.Host) { n.members[0].begin(put, 1, false) })
			run(t, n, time.Second)
			number := n.members[0].stack.Host.Incarnation().Number<<incarnationShift | 1
			n.delivered(0, c.at, &portals.Event{MatchBits: number, MLength: c.size})
			if holds(n, "exactly-once") != c.right {
				t.Errorf("%s: right %v", name, !c.right)
			}
		}
	})
	t.Run("protocol", func(t *testing.T) {
		n := accounts(t, link.Quality{})
		if !holds(n, "protocol-kept") {
			t.Error("the protocol counts as broken before a message was sent")
		}
		n.Fabric.Do(1, func(h *simlnd.Host) {
			d := &lnd.Delivery{From: nid.ProcessID{NID: simlnd.NID(0), PID: nid.LustrePID}}
			d.Header = wire.Header{Type: wire.Put, SrcNID: simlnd.NID(0), SrcPID: nid.LustrePID, DestNID: simlnd.NID(0)}
			for _, ni := range n.members[1].stack.Node.NIs() {
				if ni.NID() == h.NID() {
					_, _ = ni.Parse(d) // the destination is another node, so this node counts a breach of the protocol
				}
			}
		})
		run(t, n, time.Second)
		if holds(n, "protocol-kept") {
			t.Error("a message for another node is not seen")
		}
	})
	t.Run("failures", func(t *testing.T) {
		n := accounts(t, link.Quality{})
		n.Fabric.CutRail(1, 0, true)
		n.Fabric.Do(0, func(*simlnd.Host) { n.members[0].begin(put, 1, false) })
		run(t, n, time.Minute)
		for condition, want := range map[string]bool{"0 1 2": false, "1 1 2": true, "0 2 1": true} {
			if ok, why := n.Check("failed-operations", strings.Fields(condition)); ok != want {
				t.Errorf("failed-operations %s: %v: %s", condition, ok, why)
			}
		}
	})
	t.Run("credits", func(t *testing.T) {
		n := accounts(t, link.Quality{})
		n.Fabric.CutRail(1, 0, true)
		n.Fabric.Do(0, func(*simlnd.Host) { n.members[0].begin(put, 1, false) })
		run(t, n, time.Second)
		if holds(n, "credits-returned") {
			t.Error("the credit of a message that waits counts as returned")
		}
	})
}
