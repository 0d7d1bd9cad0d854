package lnet_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/router"
	"ulnet/lnet/wire"
)

// TestManySources: 10 000 nodes send to a node that takes nothing, each as many messages as
// it may and one more. They use half of the buffers at most, and a message of any of them to
// another node is forwarded at once.
func TestManySources(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-12")
	synctest.Test(t, manySources) // in virtual time, because after a second of real time the node would count as stalled
}

func manySources(t *testing.T) {
	const sources, credits, buffers = 10_000, 2, 1000
	c := newCrossing(t, lnd.Tunables{PeerCredits: credits}, router.Config{Small: buffers})
	other := nid.MustParse("10.1.0.3@tcp1")
	c.far.onSend = func(d *driver, m *lnd.Message) {
		if m.Header.DestNID == other {
			d.up.Finalize(m, nil)
			return
		}
		d.mu.Lock()
		d.sent = append(d.sent, m)
		d.mu.Unlock()
	}
	from := func(i int, to nid.NID) *lnd.Delivery {
		d := passing(100, uint64(i))
		d.From.NID = nid.MustParse(fmt.Sprintf("10.0.%d.%d@tcp", 1+i/250, 1+i%250))
		d.Header.SrcNID, d.Header.DestNID = d.From.NID, to
		return d
	}
	var held []*lnd.Delivery
	for i := range sources {
		if taken, answer := c.pass(from(i, peer1)); !taken && answer == lnd.Hold {
			held = append(held, nil)
		}
	}
	s := c.node.Router().Buffers
	if s.Tickets-s.Waiting != buffers/2 || len(held) != sources-buffers/2 {
		t.Errorf("%d held, %+v", len(held), s)
	}
	if memory := c.node.Router().Memory; memory > buffers*router.Page {
		t.Errorf("%d bytes of buffers", memory)
	}
	if taken, _ := c.pass(from(sources, other)); !taken {
		t.Error("a message to another node waits")
	}
	if got := c.node.Stats().RouteCount; got != 1 {
		t.Errorf("%d messages have left", got)
	}
	c.routing(false)
	if got := c.node.Stats().DropReasons[lnet.RoutingStopped.String()]; got != uint64(len(held)) {
		t.Errorf("%d dropped of %d that waited", got, len(held))
	}
}

// TestForwardAllocates checks that forwarding allocates nothing.
func TestForwardAllocates(t *testing.T) {
	spec.Covers(t, "RO-7")
	c := newCrossing(t, lnd.Tunables{}, router.Config{})
	c.far.onSend = func(d *driver, m *lnd.Message) { d.up.Finalize(m, nil) }
	small, large := passing(100, 1), passing(wire.MaxPayload, 2)
	one := func(d *lnd.Delivery) func() {
		return func() {
			if _, err := c.ni.Parse(d); err != nil || d.Dropped {
				t.Fatal("not forwarded")
			}
			c.ni.Delivered(d, nil)
		}
	}
	for name, d := range map[string]*lnd.Delivery{"small": small, "large": large} {
		one(d)()
		if n := testing.AllocsPerRun(200, one(d)); n >= 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
