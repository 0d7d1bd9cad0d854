package portals_test

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// TestRefused (PT-1, PT-20, LN-5): a message for which there is no entry and no operation is
// counted under its reason and writes nothing.
func TestRefused(t *testing.T) {
	spec.Covers(t, "LN-5", "PT-1", "PT-20")
	var memory [64]byte
	segments := []lnd.Segment{memory[:32], memory[32:]}
	for name, c := range map[string]struct {
		prepare func(t *testing.T, table *portals.Table, net *network) portals.MDHandle
		header  func(md portals.MDHandle) wire.Header
		why     lnet.DropReason
	}{
		"PUT to portal 64":     {nil, func(portals.MDHandle) wire.Header { return putHeader(1, wire.PutCmd{Portal: 64}) }, lnet.BadPortal},
		"PUT to portal 2^32-1": {nil, func(portals.MDHandle) wire.Header { return putHeader(1, wire.PutCmd{Portal: 1<<32 - 1}) }, lnet.BadPortal},
		"GET from portal 2^31": {nil, func(portals.MDHandle) wire.Header { return getHeader(wire.GetCmd{Portal: 1 << 31}) }, lnet.BadPortal},
		"PUT to an unused one": {nil, func(portals.MDHandle) wire.Header { return putHeader(1, wire.PutCmd{Portal: 63}) }, lnet.NoMatch},
		"GET of 4 GiB":         {passive(segments, portals.OpGet), func(portals.MDHandle) wire.Header { return getHeader(wire.GetCmd{SinkLength: 1<<32 - 1}) }, lnet.TooLong},
		"GET far beyond the end": {passive(segments, portals.OpGet|portals.ManageRemote), func(portals.MDHandle) wire.Header {
			return getHeader(wire.GetCmd{SrcOffset: 1<<32 - 1, SinkLength: 1<<32 - 1})
		}, lnet.TooLong},
		"PUT to an MD for GET": {passive(segments, portals.OpGet), func(portals.MDHandle) wire.Header { return putHeader(1, wire.PutCmd{}) }, lnet.NoMatch},

		"REPLY to nothing":       {nil, func(portals.MDHandle) wire.Header { return replyHeader(8, wire.NoHandle()) }, lnet.StaleHandle},
		"REPLY, zero handle":     {nil, func(portals.MDHandle) wire.Header { return replyHeader(8, wire.MDHandle{}) }, lnet.StaleHandle},
		"REPLY, slot never used": {nil, func(portals.MDHandle) wire.Header { return replyHeader(8, handle(1<<64-3)) }, lnet.StaleHandle},
		"REPLY of an earlier life": {getting(segments), func(md portals.MDHandle) wire.Header {
			return replyHeader(8, wire.MDHandle{Interface: 6, Object: uint64(md)})
		}, lnet.StaleHandle},
		"REPLY, handle of an ME":    {getting(segments), func(md portals.MDHandle) wire.Header { return replyHeader(8, handle(md+1)) }, lnet.StaleHandle},
		"REPLY to an attached MD":   {passive(segments, portals.OpGet), func(md portals.MDHandle) wire.Header { return replyHeader(8, handle(md)) }, lnet.InactiveMD},
		"REPLY to an idle MD":       {bound(segments, inf), func(md portals.MDHandle) wire.Header { return replyHeader(8, handle(md)) }, lnet.InactiveMD},
		"REPLY to an exhausted MD":  {bound(segments, 0), func(md portals.MDHandle) wire.Header { return replyHeader(8, handle(md)) }, lnet.InactiveMD},
		"REPLY to a PUT":            {putting(segments, true), func(md portals.MDHandle) wire.Header { return replyHeader(8, handle(md)) }, lnet.InactiveMD},
		"REPLY longer than the MD":  {getting(segments), func(md portals.MDHandle) wire.Header { return replyHeader(65, handle(md)) }, lnet.TooLong},
		"ACK for a GET":             {getting(segments), func(md portals.MDHandle) wire.Header { return ackHeader(handle(md), 8) }, lnet.InactiveMD},
		"ACK nobody asked for":      {putting(segments, false), func(md portals.MDHandle) wire.Header { return ackHeader(handle(md), 8) }, lnet.InactiveMD},
		"ACK of more than was sent": {putting(segments, true), func(md portals.MDHandle) wire.Header { return ackHeader(handle(md), 65) }, lnet.TooLong},
		"ACK of 4 GiB":              {putting(segments, true), func(md portals.MDHandle) wire.Header { return ackHeader(handle(md), 1<<32-1) }, lnet.TooLong},
		"ACK of an earlier life":    {putting(segments, true), func(md portals.MDHandle) wire.Header { return ackHeader(wire.MDHandle{Object: uint64(md)}, 8) }, lnet.StaleHandle},
	} {
		t.Run(name, func(t *testing.T) {
			memory = [64]byte{}
			table, net := newWire(t)
			var md portals.MDHandle
			if c.prepare != nil {
				md = c.prepare(t, table, net)
			}
			if err := net.arrive(c.header(md), nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]uint64{c.why.String(): 1}, table.Node().Stats().DropReasons); diff != "" {
				t.Errorf("drops (-want +got):\n%s", diff)
			}
			if memory != [64]byte{} {
				t.Error("memory was written to")
			}
		})
	}
}

// passive returns a function that attaches to portal 0 an entry for every message, with an MD that has the
// given memory and options.
func passive(segments []lnd.Segment, options portals.MDOption) func(*testing.T, *portals.Table, *network) portals.MDHandle {
	return func(t *testing.T, table *portals.Table, _ *network) portals.MDHandle {
		me, err := table.MEAttach(0, portals.Match{}, portals.Unlink, portals.After)
		if err != nil {
			t.Fatal(err)
		}
		md, err := table.MDAttach(me, portals.MD{Segments: segments, Threshold: inf, Options: options}, portals.Unlink)
		if err != nil {
			t.Fatal(err)
		}
		return md
	}
}

func bound(segments []lnd.Segment, threshold int) func(*testing.T, *portals.Table, *network) portals.MDHandle {
	return func(t *testing.T, table *portals.Table, _ *network) portals.MDHandle {
		md, err := table.MDBind(portals.MD{Segments: segments, Threshold: threshold}, portals.Unlink)
		if err != nil {
			t.Fatal(err)
		}
		return md
	}
}

// getting returns a function that starts a GET. The GET has left and awaits its REPLY.
func getting(segments []lnd.Segment) func(*testing.T, *portals.Table, *network) portals.MDHandle {
	return func(t *testing.T, table *portals.Table, net *network) portals.MDHandle {
		md := bound(segments, inf)(t, table, net)
		if err := table.Get(portals.GetRequest{MD: md, Target: there}); err != nil {
			t.Fatal(err)
		}
		net.finalize(net.next(), nil)
		return md
	}
}

// putting returns a function that starts a PUT. The PUT has left and, if ack is set, awaits
// its ACK.
func putting(segments []lnd.Segment, ack bool) func(*testing.T, *portals.Table, *network) portals.MDHandle {
	return func(t *testing.T, table *portals.Table, net *network) portals.MDHandle {
		md := bound(segments, inf)(t, table, net)
		if err := table.Put(portals.PutRequest{MD: md, Ack: ack, Target: there}); err != nil {
			t.Fatal(err)
		}
		net.finalize(net.next(), nil)
		return md
	}
}

// TestSecondAnswer: one GET takes one REPLY, one PUT one ACK, even if the MD's threshold
// allows more; the payload of the first REPLY stays.
func TestSecondAnswer(t *testing.T) {
	table, net := newWire(t)
	memory := make([]byte, 8)
	get := getting([]lnd.Segment{memory})(t, table, net)
	put := putting([]lnd.Segment{make([]byte, 8)}, true)(t, table, net)
	for i, h := range []wire.Header{replyHeader(8, handle(get)), ackHeader(handle(put), 8)} {
		for range 2 {
			if err := net.arrive(h, nil); err != nil {
				t.Fatal(err)
			}
			copy(memory, "the user")
		}
		if s := table.Node().Stats(); s.RecvCount != uint64(i+1) || s.DropReasons[lnet.InactiveMD.String()] != uint64(i+1) {
			t.Errorf("after answer %d: %+v", i, s)
		}
	}
	if string(memory) != "the user" {
		t.Error("a second REPLY was stored")
	}
}

// TestNoAnswerToFailedSend: a PUT or GET that did not leave takes no answer.
func TestNoAnswerToFailedSend(t *testing.T) {
	table, net := newWire(t)
	md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
	for _, err := range []error{
		table.Get(portals.GetRequest{MD: md, Target: there}),
		table.Put(portals.PutRequest{MD: md, Ack: true, Target: there}),
	} {
		if err != nil {
			t.Fatal(err)
		}
		net.finalize(net.next(), syscall.EIO)
	}
	for _, h := range []wire.Header{replyHeader(8, handle(md)), ackHeader(handle(md), 8)} {
		if err := net.arrive(h, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := table.Node().Stats().DropReasons[lnet.InactiveMD.String()]; n != 2 {
		t.Errorf("%d answers refused, want 2", n)
	}
}

// TestHugeGet (PT-30): a GET for more bytes than a REPLY can carry gets a full REPLY, or
// none.
func TestHugeGet(t *testing.T) {
	spec.Covers(t, "PT-30")
	for name, c := range map[string]struct {
		options portals.MDOption
		sent    bool
	}{
		"truncate": {portals.OpGet | portals.Truncate, true},
		"exact":    {portals.OpGet, false},
	} {
		t.Run(name, func(t *testing.T) {
			table, net := newWire(t)
			passive([]lnd.Segment{make([]byte, 3<<20)}, c.options)(t, table, net)
			if err := net.arrive(getHeader(wire.GetCmd{SinkLength: 2 << 20}), nil); err != nil {
				t.Fatal(err)
			}
			m := net.next()
			if sent := m != nil; sent != c.sent {
				t.Fatalf("answered: %v, want %v", sent, c.sent)
			}
			if m == nil {
				return
			}
			if m.Header.PayloadLength != wire.MaxPayload || m.Payload.Length != wire.MaxPayload {
				t.Errorf("REPLY of %d bytes, payload %d", m.Header.PayloadLength, m.Payload.Length)
			}
			net.finalize(m, nil)
		})
	}
}

// TestPartialArrival (PT-22): a message whose payload did not arrive whole causes an event
// with the error, and is not acknowledged.
func TestPartialArrival(t *testing.T) {
	spec.Covers(t, "PT-22")
	table, net := newWire(t)
	var events log
	h := &harness{Table: table, t: t}
	h.post(0, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 8)}, Threshold: 1, Options: portals.OpPut, Handler: events.handle,
	})
	if err := net.arrive(putHeader(8, wire.PutCmd{AckMD: handle(99)}), syscall.EIO); err != nil {
		t.Fatal(err)
	}
	if len(events.events) != 1 || !errors.Is(events.events[0].Err, syscall.EIO) || !events.events[0].Unlinked {
		t.Errorf("events %+v", events.events)
	}
	if m := net.next(); m != nil {
		t.Errorf("sent %v", m.Header.Type)
	}
}

// TestTruncatedReply (PT-21): an MD with Truncate takes the beginning of a REPLY that is too
// long.
func TestTruncatedReply(t *testing.T) {
	spec.Covers(t, "PT-21")
	table, net := newWire(t)
	var events log
	memory := make([]byte, 12)
	md, err := table.MDBind(portals.MD{
		Segments: []lnd.Segment{memory[:8]}, Threshold: 2, Options: portals.Truncate, Handler: events.handle,
	}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Get(portals.GetRequest{MD: md, Target: there}); err != nil {
		t.Fatal(err)
	}
	if err := net.arrive(replyHeader(12, handle(md)), nil); err != nil { // the REPLY arrives before the SEND event
		t.Fatal(err)
	}
	net.finalize(net.next(), nil)
	if diff := cmp.Diff([]string{"REPLY", "SEND!"}, kinds(events.events)); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	got := events.events[0]
	want := portals.Event{
		Kind: portals.EventReply, Target: here, Initiator: there, Source: there, Sender: there.NID, MsgType: wire.Reply,
		RLength: 12, MLength: 8, MD: md, Segments: got.Segments, Options: portals.Truncate,
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(sameNID)); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	if !bytes.Equal(memory, append(bytes.Repeat([]byte{0xEE}, 8), 0, 0, 0, 0)) {
		t.Errorf("memory % x", memory)
	}
}

// TestNoAnswerToForged: a message with the source of another node is dropped. No node gets an
// answer, neither its sender nor the node that it names.
func TestNoAnswerToForged(t *testing.T) {
	table, net := newWire(t)
	passive([]lnd.Segment{make([]byte, 8)}, portals.OpPut)(t, table, net)
	for _, claim := range []nid.NID{nid.MustParse("1.2.3.4@tcp9"), stranger.NID, here.NID} {
		h := putHeader(8, wire.PutCmd{AckMD: handle(99)})
		h.SrcNID = claim
		if err := net.arriveFrom(there, h, nil); err != nil {
			t.Fatal(err)
		}
	}
	if s := table.Node().Stats(); s.RecvCount != 0 || s.Errors != 0 || net.next() != nil {
		t.Errorf("counters %+v", s)
	}
	wantDrops(t, table, map[string]uint64{"foreign source": 2, "bad source": 1})
}
