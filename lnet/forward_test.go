package lnet_test

import (
	"bytes"
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/lnet/router"
	"ulnet/lnet/wire"
)

// crossing is a router between tcp (near) and tcp1 (far), without a network.
type crossing struct {
	*rig
	far   *driver
	farNI *lnet.NI
}

func newCrossing(t *testing.T, tunables lnd.Tunables, buffers router.Config) *crossing {
	t.Helper()
	return newCrossingOf(t, lnet.Config{}, tunables, buffers)
}

func newCrossingOf(t *testing.T, cfg lnet.Config, tunables lnd.Tunables, buffers router.Config) *crossing {
	t.Helper()
	c := &crossing{rig: newRig(t, tunables, cfg), far: &driver{id: self1}}
	var err error
	if c.farNI, err = c.node.AddNI(c.far, lnd.Config{Net: self1.Net()}); err != nil {
		t.Fatal(err)
	}
	if err := c.node.SetRouterBuffers(buffers); err != nil {
		t.Fatal(err)
	}
	c.routing(true)
	t.Cleanup(c.wantIdle)
	return c
}

// routing turns forwarding of the router on or off.
func (c *crossing) routing(on bool) (refused int) {
	c.t.Helper()
	if !on {
		return c.node.StopRouting()
	}
	if err := c.node.StartAsRouter(); err != nil {
		c.t.Fatal(err)
	}
	return 0
}

// wantIdle checks that every credit and buffer has come back, once nothing is under way.
func (c *crossing) wantIdle() {
	c.t.Helper()
	for c.far.finalize(nil) || c.driver.finalize(nil) {
	}
	s := c.node.Router().Buffers
	if s.Tickets != 0 || s.Tiny.Credits != s.Tiny.Buffers || s.Small.Credits != s.Small.Buffers || s.Large.Credits != s.Large.Buffers {
		c.t.Errorf("not everything has come back: %+v", s)
	}
}

// passing is a PUT of peerA for peer1 with size bytes of payload.
func passing(size int, bits uint64) *lnd.Delivery {
	return arriving(func(h *wire.Header) {
		h.DestNID, h.PayloadLength = peer1, uint32(size)
		h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: bits})
	})
}

// pass makes a message arrive whose payload the driver has at once, and reports whether the
// message was taken, and with which answer.
func (c *crossing) pass(d *lnd.Delivery) (taken bool, answer lnd.Answer) {
	c.t.Helper()
	answer, err := c.ni.Parse(d)
	if err != nil {
		c.t.Fatalf("closes the connection: %v", err)
	}
	if d.Dropped || answer == lnd.Hold {
		return false, answer
	}
	c.ni.Delivered(d, nil)
	return true, answer
}

// TestForward: a message for another net leaves by the NI of that net with the header with
// which it came. Its payload is not copied.
func TestForward(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-1", "RO-7", "RO-14")
	for _, size := range []int{0, 1, router.Page, router.Page + 1, wire.MaxPayload} {
		c := newCrossing(t, lnd.Tunables{}, router.Config{})
		d := passing(size, 5)
		want := d.Header
		if _, err := c.ni.Parse(d); err != nil || d.Dropped {
			t.Fatalf("%d bytes: error %v, dropped %v", size, err, c.node.Stats().DropReasons)
		}
		if d.Sink.Length != size {
			t.Fatalf("%d bytes have a buffer of %d", size, d.Sink.Length)
		}
		if len(c.far.sent) != 0 {
			t.Fatal("the message goes on before its payload has come")
		}
		payload := bytes.Repeat([]byte{0xa5}, size)
		d.Sink.CopyIn(payload)
		sink := d.Sink
		c.ni.Delivered(d, nil)
		if len(c.far.sent) != 1 || len(c.driver.sent) != 0 {
			t.Fatalf("%d bytes: %d messages on the far side, %d on the near", size, len(c.far.sent), len(c.driver.sent))
		}
		m := c.far.sent[0]
		if diff := cmp.Diff(want, m.Header, cmp.AllowUnexported(wire.Header{}), cmp.Comparer(func(a, b nid.NID) bool { return a == b })); diff != "" {
			t.Errorf("%d bytes: header (-came +left):\n%s", size, diff)
		}
		if m.Target != (nid.ProcessID{NID: peer1, PID: nid.LustrePID}) || !bytes.Equal(m.Payload.AppendTo(nil), payload) {
			t.Errorf("%d bytes: goes to %v with %d bytes", size, m.Target, m.Payload.Length)
		}
		if size > 0 && &m.Payload.Segments[0][0] != &sink.Segments[0][0] {
			t.Error("the payload was copied")
		}
		c.far.finalize(nil)
		s := c.node.Stats()
		if s.RouteCount != 1 || s.RouteLength != uint64(size) || s.SendCount+s.RecvCount+s.DropCount != 0 {
			t.Errorf("%d bytes: %+v", size, s)
		}
		all, one := c.node.Snapshot(), lnet.Routed{Count: 1, Length: uint64(size)}
		for _, ni := range all.NIs {
			near, far := ni.NID == self, ni.NID == self1
			if (ni.Traffic.RoutedIn == one) != near || (ni.Traffic.RoutedOut == one) != far {
				t.Errorf("%d bytes: %v has %+v", size, ni.NID, ni.Traffic)
			}
		}
		for _, p := range all.Peers {
			near, far := p.NID == peerA, p.NID == peer1
			if (p.Traffic.RoutedIn == one) != near || (p.Traffic.RoutedOut == one) != far {
				t.Errorf("%d bytes: %v has %+v", size, p.NID, p.Traffic)
			}
		}
		if len(all.NIs) != 2 || len(all.Peers) != 2 {
			t.Errorf("%d NIs and %d peers, want 2 each", len(all.NIs), len(all.Peers))
		}
	}
}

// TestForwardRefuses: each message that may not be forwarded is dropped under its reason, and the
// connection is closed if the message breaks the protocol.
func TestForwardRefuses(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-2", "RO-3", "RO-4", "RO-9")
	stranger := nid.MustParse("10.9.9.9@tcp9")
	for name, test := range map[string]struct {
		change func(h *wire.Header)
		why    lnet.DropReason
		closes bool
	}{
		"good":                        {func(*wire.Header) {}, lnet.NotDropped, false},
		"on this net":                 {func(h *wire.Header) { h.DestNID = peerB }, lnet.NotDirect, true},
		"our other NID":               {func(h *wire.Header) { h.DestNID = self1 }, lnet.WrongNI, true},
		"net that no node has":        {func(h *wire.Header) { h.DestNID = stranger }, lnet.NoRoute, false},
		"large NID":                   {func(h *wire.Header) { h.DestNID = nid.MustParse("fd00::1@tcp1") }, lnet.NoRoute, false},
		"loopback":                    {func(h *wire.Header) { h.DestNID = nid.Lo0() }, lnet.BadSource, false},
		"nobody":                      {func(h *wire.Header) { h.DestNID = nid.NID{} }, lnet.BadSource, false},
		"anybody":                     {func(h *wire.Header) { h.DestNID = nid.Any() }, lnet.BadSource, false},
		"from the net that it is for": {func(h *wire.Header) { h.SrcNID = nid.MustParse("10.1.0.7@tcp1") }, lnet.NeedlessDetour, false},
		"from this router":            {func(h *wire.Header) { h.SrcNID = self }, lnet.BadSource, false},
		"from the router's far side":  {func(h *wire.Header) { h.SrcNID = self1 }, lnet.BadSource, false},
		"from a neighbour":            {func(h *wire.Header) { h.SrcNID = peerB }, lnet.ForeignSource, false},
		"from a net far away":         {func(h *wire.Header) { h.SrcNID = stranger }, lnet.ForeignSource, false},
		"from another process":        {func(h *wire.Header) { h.SrcPID = nid.UserPID | 9 }, lnet.ForeignSource, false},
		"from anybody":                {func(h *wire.Header) { h.SrcNID = nid.Any() }, lnet.BadSource, false},
		"from loopback":               {func(h *wire.Header) { h.SrcNID = nid.Lo0() }, lnet.BadSource, false},
		"above 1 MiB":                 {func(h *wire.Header) { h.PayloadLength = wire.MaxPayload + 1 }, lnet.BadPayload, true},
		"GET with payload":            {func(h *wire.Header) { h.Type = wire.Get }, lnet.BadPayload, true},
		"no type":                     {func(h *wire.Header) { h.Type = 1<<32 - 1 }, lnet.BadType, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrossing(t, lnd.Tunables{}, router.Config{})
			d := passing(10, 1)
			test.change(&d.Header)
			_, err := c.ni.Parse(d)
			if closes := errors.Is(err, lnet.ErrProtocol); closes != test.closes {
				t.Errorf("closes: %v, want %v", closes, test.closes)
			}
			want := map[string]uint64{test.why.String(): 1}
			if test.why == lnet.NotDropped {
				want = map[string]uint64{}
				c.ni.Delivered(d, nil)
			}
			s := c.node.Stats()
			if diff := cmp.Diff(want, s.DropReasons); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(c.driver.sent) != 0 || (test.why == lnet.NotDropped) != (len(c.far.sent) == 1) {
				t.Errorf("%d messages near, %d far", len(c.driver.sent), len(c.far.sent))
			}
		})
	}
}

// TestForwardNotResent: a forwarded message that fails is not sent again, though a message of the
// node itself would be.
func TestForwardNotResent(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-8")
	synctest.Test(t, func(t *testing.T) {
		c := newCrossing(t, lnd.Tunables{}, router.Config{})
		if taken, _ := c.pass(passing(10, 1)); !taken {
			t.Fatal("not forwarded")
		}
		c.far.finalize(lnd.Failed(lnd.LocalDropped, syscall.EIO))
		synctest.Wait()
		if s := c.node.Stats(); len(c.far.sent) != 0 || s.ResendCount != 0 || s.DropReasons["forward failed"] != 1 {
			t.Errorf("%d messages to send, %d sent again, drops %v", len(c.far.sent), s.ResendCount, s.DropReasons)
		}
	})
}

// TestForwardLoop: a message is dropped if its next hop is the node from which it came. That holds also if
// the message came from one NID of that node and the next hop is another one.
func TestForwardLoop(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-3")
	beyond := nid.MustParse("10.9.9.9@tcp9")
	for name, gateway := range map[string]nid.NID{"by the gateway's NID": peerA, "by another NID of the gateway": peer1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrossing(t, lnd.Tunables{}, router.Config{})
			if gateway == peer1 {
				c.node.SetPeer(lnet.Peer{ // not multi-rail, so that its NID on tcp1 is the next hop
					Primary: peerA, NIs: []wire.NIStatus{{NID: peerA, Status: wire.StatusUp}, {NID: peer1, Status: wire.StatusUp}},
					Flags: lnet.PeerDiscovered | lnet.PeerNIDsUpToDate | lnet.PeerRouter,
				})
			}
			if err := c.node.AddRoute(route.New(beyond.Net(), gateway)); err != nil {
				t.Fatal(err)
			}
			circling, good := passing(10, 1), passing(10, 2)
			circling.Header.DestNID, good.Header.DestNID = beyond, beyond
			good.Header.SrcNID, good.From.NID = peerB, peerB
			if taken, _ := c.pass(circling); taken {
				t.Error("a message goes back to the node that it came from")
			}
			if taken, _ := c.pass(good); !taken {
				t.Error("a message of another node is dropped")
			}
			if diff := cmp.Diff(map[string]uint64{lnet.RouteLoop.String(): 1}, c.node.Stats().DropReasons); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRoutingOff: while forwarding is off, a message for another net is dropped. When forwarding is
// turned off, messages that wait for a buffer are dropped, and those that have one are still sent.
func TestRoutingOff(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-4", "RO-10")
	c := newCrossing(t, lnd.Tunables{PeerCredits: 1}, router.Config{})
	if taken, _ := c.pass(passing(10, 1)); !taken {
		t.Fatal("not forwarded")
	}
	waiting := passing(10, 2)
	if _, answer := c.pass(waiting); answer != lnd.Hold {
		t.Fatal("a second message has a credit")
	}
	if refused := c.routing(false); refused != 1 {
		t.Errorf("%d messages were refused, want 1", refused)
	}
	if taken, answer := c.pass(passing(10, 3)); taken || answer == lnd.Hold {
		t.Error("forwards after it was turned off")
	}
	if !waiting.Dropped || len(c.driver.recv) != 1 {
		t.Errorf("the message that waited: dropped %v, %d continued", waiting.Dropped, len(c.driver.recv))
	}
	c.far.finalize(nil)
	s := c.node.Stats()
	if diff := cmp.Diff(map[string]uint64{"routing stopped": 1, "routing off": 1}, s.DropReasons); diff != "" || s.RouteCount != 1 {
		t.Errorf("%d routed, drops (-want +got):\n%s", s.RouteCount, diff)
	}
}

// TestRouterCredits: a peer may have a limited number of messages in the router at a time. The
// next one waits, with its payload unread, until one of them has left; waiting ones keep order.
func TestRouterCredits(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-5")
	for name, test := range map[string]struct {
		tunables lnd.Tunables
		want     int
	}{
		"peer_credits":        {lnd.Tunables{PeerCredits: 3}, 3},
		"peer_buffer_credits": {lnd.Tunables{PeerCredits: 3, PeerBufferCredits: 5}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrossing(t, test.tunables, router.Config{})
			for i := range test.want {
				if taken, _ := c.pass(passing(10, uint64(i))); !taken {
					t.Fatalf("message %d waits", i)
				}
			}
			next := passing(10, 99)
			if _, answer := c.pass(next); answer != lnd.Hold {
				t.Fatal("there is a credit more")
			}
			if len(c.driver.recv) != 0 {
				t.Fatal("its payload was read")
			}
			c.far.finalize(nil)
			if len(c.driver.recv) != 1 || c.driver.recv[0] != next {
				t.Fatal("a credit came back, and the message waits")
			}
		})
	}
}

// TestForwardGivenUp: a forwarded message fails: its connection ends while the message waits for a credit, or while
// its payload arrives, or the next hop cannot be reached. In each case the credit and the buffer are free again, and
// the drop is counted under its reason.
func TestForwardGivenUp(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-8")
	c := newCrossing(t, lnd.Tunables{PeerCredits: 1}, router.Config{})
	cut := passing(10, 1)
	if _, err := c.ni.Parse(cut); err != nil {
		t.Fatal(err)
	}
	waiting := passing(10, 2)
	if answer, _ := c.ni.Parse(waiting); answer != lnd.Hold {
		t.Fatal("has a credit")
	}
	if !c.ni.Abandon(waiting) {
		t.Error("a message that waits is not given up")
	}
	c.ni.Delivered(cut, syscall.ECONNRESET)
	if taken, _ := c.pass(passing(10, 3)); !taken {
		t.Fatal("the credit of a message that was cut has not come back")
	}
	c.far.finalize(syscall.EHOSTUNREACH)
	want := map[string]uint64{"peer gone": 1, "transit cut": 1, "forward failed": 1}
	if diff := cmp.Diff(want, c.node.Stats().DropReasons); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := c.node.Stats(); s.RouteCount != 0 || s.Errors != 0 {
		t.Errorf("%+v", s)
	}
}

// TestForwardMoves: a message that waits for a credit of an NI whose link goes down is sent
// by another NI of the net, and is counted there.
func TestForwardMoves(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-8", "NS-4")
	c := newCrossing(t, lnd.Tunables{}, router.Config{})
	other := &driver{id: nid.MustParse("10.1.0.9@tcp1")}
	ni, err := c.node.AddNI(other, lnd.Config{Net: self1.Net(), Tunables: lnd.Tunables{PeerCredits: 1}})
	if err != nil {
		t.Fatal(err)
	}
	c.farNI.SetLink(errUnplugged)
	for bits := range uint64(2) {
		if taken, _ := c.pass(passing(10, bits)); !taken {
			t.Fatalf("message %d was not taken", bits)
		}
	}
	c.farNI.SetLink(nil)
	ni.SetLink(errUnplugged)
	if len(other.sent) != 1 || len(c.far.sent) != 1 {
		t.Fatalf("%d messages by the NI without a link, %d by the other: %v", len(other.sent), len(c.far.sent), c.node.Stats().DropReasons)
	}
	if h := &c.far.sent[0].Header; h.DestNID != peer1 || h.SrcNID != peerA {
		t.Errorf("went from %v to %v", h.SrcNID, h.DestNID)
	}
	other.finalize(nil)
	c.far.finalize(nil)
	if got := c.node.Stats().RouteCount; got != 2 {
		t.Errorf("%d messages have left", got)
	}
}

// TestForwardHeals: a message that is to be forwarded restores the health of its sender and of
// the NI by which it came. A router's health is restored in full at once. A message that ends
// half-way restores no health.
func TestForwardHeals(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "HV-6")
	c := newCrossing(t, lnd.Tunables{}, router.Config{})
	c.pass(passing(10, 1))
	c.far.finalize(nil)
	if err := errors.Join(c.node.SetPeerHealth(peerA, 800), c.node.SetNIHealth(self, 800)); err != nil {
		t.Fatal(err)
	}
	want := func(when string, ni, peer int) {
		t.Helper()
		if a, b := c.ni.Rail().Health(), c.node.Rail(peerA).Health(); a != ni || b != peer {
			t.Errorf("%s: NI %d, sender %d, want %d and %d", when, a, b, ni, peer)
		}
	}
	cut := passing(10, 2)
	if _, err := c.ni.Parse(cut); err != nil {
		t.Fatal(err)
	}
	c.ni.Delivered(cut, syscall.ECONNRESET)
	want("cut", 800, 800)
	c.pass(passing(10, 3))
	want("arrived", 900, 1000)
}

// TestForwardNIGoes: when an NI is removed, waiting messages that came by it are dropped.
func TestForwardNIGoes(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-8")
	c := newCrossing(t, lnd.Tunables{PeerCredits: 1}, router.Config{})
	c.pass(passing(10, 1))
	waiting := passing(10, 2)
	if _, answer := c.pass(waiting); answer != lnd.Hold {
		t.Fatal("has a credit")
	}
	if err := c.node.RemoveNI(over(), c.ni); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if !waiting.Dropped {
		t.Error("a message waits for an NI that is gone")
	}
	if got := c.node.Stats().DropReasons["NI shutdown"]; got != 1 {
		t.Errorf("%d counted", got)
	}
}

// TestNextHopDead: a request is dropped before it takes a buffer if its next hop could not be
// reached a moment ago, or reports its NI as down. An answer is sent nevertheless. Later,
// requests are tried again.
func TestNextHopDead(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-18")
	synctest.Test(t, func(t *testing.T) {
		c := newCrossing(t, lnd.Tunables{}, router.Config{})
		refused := func(when string, want bool) {
			t.Helper()
			before := c.node.Stats().DropReasons[lnet.NextHopDead.String()]
			taken, _ := c.pass(passing(10, 1))
			if counted := c.node.Stats().DropReasons[lnet.NextHopDead.String()] > before; taken == want || counted != want {
				t.Errorf("%s: taken %v, counted %v", when, taken, counted)
			}
			for c.far.finalize(nil) {
			}
		}
		refused("nothing is known", false)
		c.far.up.PeerDown(nid.ProcessID{NID: peer1, PID: 777}, syscall.ECONNREFUSED) // as when a sender names a process that does not exist
		refused("another process could not be reached", false)
		c.far.up.PeerDown(nid.ProcessID{NID: peer1, PID: nid.LustrePID}, syscall.ECONNREFUSED)
		refused("it could not be reached", true)
		c.far.up.PeerDown(nid.ProcessID{NID: peer1, PID: 777}, syscall.ECONNREFUSED)
		refused("another process could not be reached either", true)
		reply := passing(10, 2)
		reply.Header.SetReply(wire.ReplyCmd{})
		if taken, _ := c.pass(reply); !taken {
			t.Error("an answer was dropped")
		}
		time.Sleep(5 * time.Second)
		refused("it could not be reached 5 s ago", false)
		c.far.up.PeerUp(nid.ProcessID{NID: peer1, PID: nid.LustrePID})
		c.far.up.PeerDown(nid.ProcessID{NID: peer1, PID: nid.LustrePID}, syscall.ECONNRESET)
		refused("its connection has ended", false)
		c.node.Rail(peer1).SetDown(true)
		refused("it says that it is down", true)
	})
}
