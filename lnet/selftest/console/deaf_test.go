package console_test

import (
	"context"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
	lnetwire "ulnet/lnet/wire"
	"ulnet/portals"
	"ulnet/portals/portalstest"
)

// still is a clock that does not move, so that no message expires, however slow the machine is.
type still struct{}

func (still) Now() time.Duration                            { return time.Hour }
func (still) AfterFunc(time.Duration, func()) machine.Timer { return still{} }
func (still) Stop() bool                                    { return true }

func deafNID(id int) nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), uint32(id)+1) }

// deafConsole makes a console to which nodes send JOIN requests without reading the replies. It returns a function that
// lets n requests of a node arrive, and returns how many replies wait for the node then.
func deafConsole(t *testing.T) (join func(from nid.NID, n int) (waiting int)) {
	t.Helper()
	node, driver := lnet.New(lnet.Config{Incarnation: 1, Clock: still{}}), &portalstest.Unread{ID: deafNID(0)}
	table := portals.New(node)
	for _, d := range []lnd.Driver{lo.Driver{}, driver} {
		if _, err := node.AddNI(d, lnd.Config{Net: nid.MakeNet(d.Type(), 0)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := discovery.NewTarget(table); err != nil {
		t.Fatal(err)
	}
	agent, err := selftest.New(table, selftest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := console.New(table, agent, console.Config{})
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel() // so that Close and Shutdown do not wait for messages that no node reads
	t.Cleanup(func() {
		if err := c.Close(over); err != nil {
			t.Error(err)
		}
		if err := agent.Close(over); err != nil {
			t.Error(err)
		}
		_ = node.Shutdown(over)
	})
	data, err := (&wire.Message{Header: wire.Header{Features: 1}, ReplyID: 1 << 40, Body: &wire.Join{Session: wire.NoSession(), Group: "g"}}).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(from nid.NID, n int) (waiting int) {
		for range n {
			d := new(lnd.Delivery)
			d.Header.SetPut(lnetwire.PutCmd{AckMD: lnetwire.NoHandle(), Portal: wire.FrameworkPortal, MatchBits: uint64(wire.JoinService)})
			driver.Arrive(t, from, d, data)
		}
		for _, p := range node.Snapshot().Peers {
			if p.NID == from {
				waiting = p.MaxCredits - p.Credits
			}
		}
		return waiting
	}
}

// TestDeafJoiners: nodes ask to join, and read no replies. No more than 8 replies wait for one of them, and however many
// there are, another node gets its reply.
func TestDeafJoiners(t *testing.T) {
	spec.Covers(t, "ST-31")
	join := deafConsole(t)
	if n := join(deafNID(1), 2000); n != 8 {
		t.Errorf("%d replies wait for a node, want 8", n)
	}
	for n := range 600 {
		join(deafNID(100+n), 10)
	}
	if n := join(deafNID(2), 10); n != 2 {
		t.Errorf("%d replies wait for a node beside many others, want 2", n)
	}
}
