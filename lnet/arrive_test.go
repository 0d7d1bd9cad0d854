package lnet_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// arriving returns the delivery of a PUT from peerA with 10 bytes. The PUT is valid unless change, which may
// alter its header, makes it invalid.
func arriving(change func(h *wire.Header)) *lnd.Delivery {
	d := &lnd.Delivery{From: nid.ProcessID{NID: peerA, PID: nid.LustrePID}}
	d.Header.SrcNID, d.Header.SrcPID = peerA, nid.LustrePID
	d.Header.DestNID, d.Header.DestPID = self, nid.LustrePID
	d.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle()})
	d.Header.PayloadLength = 10
	if change != nil {
		change(&d.Header)
	}
	return d
}

// TestDrops (LN-1, LN-2, LN-3, LN-4, LN-5): for each reason to refuse a header, the test checks
// the counter of that reason, and whether the peer loses its connections.
func TestDrops(t *testing.T) {
	spec.Covers(t, "LN-1", "LN-2", "LN-3", "LN-4", "LN-5")
	for name, c := range map[string]struct {
		change func(h *wire.Header)
		why    lnet.DropReason
		closes bool
	}{
		"good":                     {nil, lnet.NotDropped, false},
		"foreign pid":              {func(h *wire.Header) { h.DestPID = 9 }, lnet.NotDropped, false},
		"1 MiB":                    {func(h *wire.Header) { h.PayloadLength = wire.MaxPayload }, lnet.NotDropped, false},
		"above 1 MiB":              {func(h *wire.Header) { h.PayloadLength = wire.MaxPayload + 1 }, lnet.BadPayload, true},
		"4 GiB":                    {func(h *wire.Header) { h.PayloadLength = 1<<32 - 1 }, lnet.BadPayload, true},
		"4 GiB REPLY":              {func(h *wire.Header) { h.Type, h.PayloadLength = wire.Reply, 1<<32-1 }, lnet.BadPayload, true},
		"GET with payload":         {func(h *wire.Header) { h.Type = wire.Get }, lnet.BadPayload, true},
		"ACK with payload":         {func(h *wire.Header) { h.Type = wire.Ack }, lnet.BadPayload, true},
		"HELLO":                    {func(h *wire.Header) { h.Type = wire.Hello }, lnet.BadType, true},
		"type 2^32-1":              {func(h *wire.Header) { h.Type = 1<<32 - 1 }, lnet.BadType, true},
		"from nobody":              {func(h *wire.Header) { h.SrcNID = nid.NID{} }, lnet.BadSource, false},
		"from anybody":             {func(h *wire.Header) { h.SrcNID = nid.Any() }, lnet.BadSource, false},
		"from loopback":            {func(h *wire.Header) { h.SrcNID = nid.Lo0() }, lnet.BadSource, false},
		"from ourselves":           {func(h *wire.Header) { h.SrcNID = self }, lnet.BadSource, false},
		"from our other NI":        {func(h *wire.Header) { h.SrcNID = self1 }, lnet.BadSource, false},
		"from another peer":        {func(h *wire.Header) { h.SrcNID = peerB }, lnet.ForeignSource, false},
		"from another net":         {func(h *wire.Header) { h.SrcNID = peer1 }, lnet.ForeignSource, false},
		"from another process":     {func(h *wire.Header) { h.SrcPID = nid.UserPID | 7 }, lnet.ForeignSource, false},
		"REPLY of another peer":    {func(h *wire.Header) { h.Type, h.SrcNID = wire.Reply, peerB }, lnet.ForeignSource, false},
		"for a neighbour":          {func(h *wire.Header) { h.DestNID = peerB }, lnet.NotDirect, true},
		"for our other NI":         {func(h *wire.Header) { h.DestNID = self1 }, lnet.WrongNI, true},
		"for another net":          {func(h *wire.Header) { h.DestNID = peer1 }, lnet.RoutingOff, false},
		"for loopback":             {func(h *wire.Header) { h.DestNID = nid.Lo0() }, lnet.RoutingOff, false},
		"for anybody":              {func(h *wire.Header) { h.DestNID = nid.Any() }, lnet.RoutingOff, false},
		"for nobody":               {func(h *wire.Header) { h.DestNID = nid.NID{} }, lnet.RoutingOff, false},
		"type before destination":  {func(h *wire.Header) { h.Type, h.DestNID = 77, peerB }, lnet.BadType, true},
		"payload before source":    {func(h *wire.Header) { h.PayloadLength, h.SrcNID = 1<<30, nid.Any() }, lnet.BadPayload, true},
		"the layer above declines": {func(h *wire.Header) { h.DestPID = 666 }, lnet.NoMatch, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, lnd.Tunables{}, lnet.Config{})
			if _, err := r.node.AddNI(&driver{id: self1}, lnd.Config{Net: self1.Net()}); err != nil {
				t.Fatal(err)
			}
			r.up.arrive = func(_ *lnet.NI, d *lnd.Delivery) (lnd.Answer, lnet.DropReason) {
				d.Owner, d.Sink.Length = r.up, 4
				if d.Header.DestPID == 666 {
					return lnd.Accept, lnet.NoMatch
				}
				return lnd.Accept, lnet.NotDropped
			}
			d := arriving(c.change)
			// The Delivery still has the sink of the previous message. A message that is dropped must not
			// keep it.
			d.Sink = lnd.Payload{Segments: []lnd.Segment{make([]byte, 99)}, Length: 99}
			answer, err := r.ni.Parse(d)
			if closes := errors.Is(err, lnet.ErrProtocol); closes != c.closes || answer != lnd.Accept {
				t.Fatalf("answer %v, error %v; want accept and, to close, %v", answer, err, c.closes)
			}
			if !c.closes {
				r.ni.Delivered(d, nil)
			}
			got := r.node.Stats()
			want := lnet.Stats{RecvCount: 1, RecvLength: 4, DropReasons: map[string]uint64{}}
			if c.why != lnet.NotDropped {
				want = lnet.Stats{
					DropCount: 1, DropLength: uint64(d.Header.PayloadLength),
					DropReasons: map[string]uint64{c.why.String(): 1},
				}
				if d.Owner != nil || d.Sink.Length != 0 {
					t.Errorf("dropped, but owner %v, sink of %d bytes", d.Owner, d.Sink.Length)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFailedDelivery: a message that did not arrive whole does not count as received.
func TestFailedDelivery(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	d := arriving(nil)
	if _, err := r.ni.Parse(d); err != nil {
		t.Fatal(err)
	}
	r.ni.Delivered(d, syscall.ECONNRESET)
	if s := r.node.Stats(); s.RecvCount != 0 || r.up.delivered != 1 {
		t.Errorf("counted %d, reported %d", s.RecvCount, r.up.delivered)
	}
}

// TestDiscard: a held message that is discarded counts under the given reason.
func TestDiscard(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.up.arrive = func(*lnet.NI, *lnd.Delivery) (lnd.Answer, lnet.DropReason) { return lnd.Hold, lnet.NotDropped }
	d := arriving(nil)
	if answer, err := r.ni.Parse(d); answer != lnd.Hold || err != nil {
		t.Fatal(answer, err)
	}
	r.ni.Discard(d, lnet.LazyCleared)
	if len(r.recv) != 1 || r.up.delivered != 0 {
		t.Errorf("driver released %d times, upper told %d times; want 1, 0", len(r.recv), r.up.delivered)
	}
	p := r.peer(peerA)
	if n := r.node.Stats().DropReasons["lazy portal cleared"]; n != 1 || p.Traffic.Dropped.Put != 1 {
		t.Errorf("%d drops, %d of the peer", n, p.Traffic.Dropped.Put)
	}
}

// TestPeerTableFull (LN-17): when the table is full, idle peers are removed to make room. Busy peers and connected
// ones are not.
func TestPeerTableFull(t *testing.T) {
	spec.Covers(t, "LN-17")
	r := newRig(t, lnd.Tunables{}, lnet.Config{MaxPeers: 2})
	r.send(peerA, 1) // this peer has a message in flight
	r.ni.PeerUp(nid.ProcessID{NID: peerB})
	r.send(peerC, 2)
	r.wantResult(2, syscall.ENOBUFS)
	d := arriving(func(h *wire.Header) { h.SrcNID = peerC })
	d.From.NID = peerC
	if _, err := r.ni.Parse(d); err != nil {
		t.Fatal(err)
	}
	if n := r.node.Stats().DropReasons[lnet.PeerTableFull.String()]; n != 1 {
		t.Errorf("%d drops", n)
	}
	r.ni.PeerDown(nid.ProcessID{NID: peerB}, syscall.ECONNRESET)
	if p := r.peer(peerB); p.State != "down" || p.Cause != syscall.ECONNRESET.Error() {
		t.Errorf("peer %+v", p)
	}
	r.send(peerC, 3)
	wantBits(t, "in flight", r.inFlight(), 1, 3)
	if n := len(r.node.Snapshot().Peers); n != 2 {
		t.Errorf("%d peers", n)
	}
}

// TestDeliveryOfAnotherPeer: a Delivery that is used for another connection, or for an NI
// that was added again, forgets its cached peer.
func TestDeliveryOfAnotherPeer(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	d := arriving(nil)
	for _, from := range []nid.NID{peerA, peerB, peerB} {
		d.From.NID, d.Header.SrcNID = from, from
		if _, err := r.ni.Parse(d); err != nil {
			t.Fatal(err)
		}
		r.ni.Delivered(d, nil)
	}
	if a, b := r.peer(peerA).Traffic.Received.Put, r.peer(peerB).Traffic.Received.Put; a != 1 || b != 2 {
		t.Errorf("%d from A, %d from B; want 1, 2", a, b)
	}
}

func TestDropReasonString(t *testing.T) {
	seen := make(map[string]bool)
	for why := lnet.NotDropped; why <= lnet.NotAsked; why++ {
		if s := why.String(); s == "" || seen[s] {
			t.Errorf("reason %d is called %q", uint8(why), s)
		} else {
			seen[s] = true
		}
	}
	if got := lnet.DropReason(200).String(); got != "reason 200" {
		t.Errorf("unknown reason is %q", got)
	}
}
