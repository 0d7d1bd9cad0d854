package portals_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// eventFixture makes one event of any kind. The peer sends from a NID that is not its primary
// one, and through a router; so the node under test must not check the sources of messages.
type eventFixture struct {
	*harness
	net      *network
	segments []lnd.Segment
	seen     []portals.Event
}

var (
	primary = nid.ProcessID{NID: nid.MustParse("10.7.7.7@tcp1"), PID: there.PID}
	router  = nid.MustParse("10.0.0.99@tcp")
)

// received is the time at which the driver received the message.
const received = 33 * time.Millisecond

// routerIncarnation is the incarnation of the router that delivered the message.
const routerIncarnation = 0x1122334455667788

func newEventFixture(t *testing.T) *eventFixture {
	node := lnet.New(lnet.Config{Incarnation: incarnation, Clock: machine.RealClock(), SourceUnchecked: true})
	table, net := newWireOn(t, node, lnd.Tunables{})
	table.Node().SetPeer(lnet.Peer{Primary: primary.NID, NIs: []wire.NIStatus{{NID: primary.NID}, {NID: there.NID}}})
	return &eventFixture{harness: &harness{Table: table, t: t}, net: net, segments: []lnd.Segment{make([]byte, 16)}}
}

func (f *eventFixture) see(e *portals.Event) { f.seen = append(f.seen, *e) }

func (f *eventFixture) active() portals.MDHandle {
	return f.bind(portals.MD{Segments: f.segments, Threshold: inf, Handler: f.see, UserPtr: "active"})
}

func (f *eventFixture) passive(options portals.MDOption) portals.MDHandle {
	_, md := f.post(9, portals.Match{ID: primary, Bits: 0x42}, portals.MD{
		Segments: f.segments, Threshold: inf, Options: options, Handler: f.see, UserPtr: "passive",
	})
	return md
}

func (f *eventFixture) arrive(h wire.Header) {
	f.t.Helper()
	d := &lnd.Delivery{Header: h, From: nid.ProcessID{NID: router, PID: nid.LustrePID}, Incarnation: routerIncarnation, ReceivedAt: received}
	if answer, err := f.net.up.Parse(d); answer != lnd.Accept || err != nil {
		f.t.Fatal(answer, err)
	}
	f.net.receive(d, nil)
}

// sent makes a message leave and discards its SEND event.
func (f *eventFixture) sent() {
	f.net.finalize(f.net.next(), nil)
	f.seen = nil
}

func (f *eventFixture) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// compare compares the event that run causes with the wanted one.
func (f *eventFixture) compare(run func(f *eventFixture) portals.MDHandle, want portals.Event) {
	f.t.Helper()
	want.MD, want.Segments = run(f), f.segments
	if want.Kind != portals.EventSend && want.Kind != portals.EventUnlink {
		want.ReceivedAt, want.Incarnation = received, routerIncarnation
	}
	if diff := cmp.Diff([]portals.Event{want}, f.seen, cmp.Comparer(sameNID)); diff != "" {
		f.t.Errorf("(-want +got):\n%s", diff)
	}
	if err := f.MDUnlink(want.MD); err != nil && !errors.Is(err, syscall.ENOENT) {
		f.t.Fatal(err)
	}
}

// TestEventFieldsAtInitiator (PT-16) checks every field of the events of a bound MD, with which
// this node puts and gets (struct lnet_event).
func TestEventFieldsAtInitiator(t *testing.T) {
	spec.Covers(t, "PT-16")
	anyone := nid.ProcessID{NID: nid.Any(), PID: nid.LustrePID}
	put := func(f *eventFixture, ack bool) portals.MDHandle {
		md := f.active()
		f.check(f.Put(portals.PutRequest{MD: md, Ack: ack, Target: there, Portal: 3, MatchBits: 4, Offset: 5, HdrData: 6}))
		return md
	}
	get := func(f *eventFixture) portals.MDHandle {
		md := f.active()
		f.check(f.Get(portals.GetRequest{MD: md, Target: there, Portal: 3, MatchBits: 4, Offset: 5}))
		return md
	}
	for name, c := range map[string]struct {
		run  func(f *eventFixture) portals.MDHandle
		want portals.Event
	}{
		"SEND of a PUT": {func(f *eventFixture) portals.MDHandle {
			md := put(f, true)
			f.net.finalize(f.net.next(), nil)
			return md
		}, portals.Event{
			Kind: portals.EventSend, Target: there, Initiator: anyone, Source: anyone, Sender: nid.Any(), MsgType: wire.Put,
			Portal: 3, MatchBits: 4, RLength: 16, MLength: 16, Offset: 5, HdrData: 6, UserPtr: "active",
		}},
		"SEND of a GET that fails": {func(f *eventFixture) portals.MDHandle {
			md := get(f)
			f.net.finalize(f.net.next(), syscall.EHOSTUNREACH)
			return md
		}, portals.Event{
			Kind: portals.EventSend, Target: there, Initiator: anyone, Source: anyone, Sender: nid.Any(), MsgType: wire.Get,
			Portal: 3, MatchBits: 4, RLength: 16, MLength: 16, Offset: 5, UserPtr: "active", Err: syscall.EHOSTUNREACH,
		}},
		"ACK": {func(f *eventFixture) portals.MDHandle {
			md := put(f, true)
			f.sent()
			f.arrive(ackHeader(handle(md), 12))
			return md
		}, portals.Event{
			Kind: portals.EventAck, Target: here, Initiator: primary, Source: there, Sender: router, MsgType: wire.Ack,
			MatchBits: 0x55, MLength: 12, UserPtr: "active",
		}},
		"REPLY": {func(f *eventFixture) portals.MDHandle {
			md := get(f)
			f.sent()
			f.arrive(replyHeader(7, handle(md)))
			return md
		}, portals.Event{
			Kind: portals.EventReply, Target: here, Initiator: primary, Source: there, Sender: router, MsgType: wire.Reply,
			RLength: 7, MLength: 7, UserPtr: "active",
		}},
		"UNLINK": {func(f *eventFixture) portals.MDHandle {
			md := f.active()
			f.check(f.MDUnlink(md))
			return md
		}, portals.Event{Kind: portals.EventUnlink, UserPtr: "active", Unlinked: true}},
	} {
		t.Run(name, func(t *testing.T) { newEventFixture(t).compare(c.run, c.want) })
	}
}

// TestEventFieldsAtTarget (PT-16) checks every field of the events of an attached MD, to which a peer puts
// and from which it gets.
func TestEventFieldsAtTarget(t *testing.T) {
	spec.Covers(t, "PT-16")
	const (
		puts = portals.OpPut | portals.ManageRemote | portals.Truncate
		gets = portals.OpGet | portals.ManageRemote
	)
	for name, c := range map[string]struct {
		run  func(f *eventFixture) portals.MDHandle
		want portals.Event
	}{
		"PUT": {func(f *eventFixture) portals.MDHandle {
			md := f.passive(puts)
			f.arrive(putHeader(10, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 9, MatchBits: 0x42, Offset: 8, HdrData: 77}))
			return md
		}, portals.Event{
			Kind: portals.EventPut, Target: here, Initiator: primary, Source: there, Sender: router, MsgType: wire.Put,
			Portal: 9, MatchBits: 0x42, RLength: 10, MLength: 8, Offset: 8, HdrData: 77, Options: puts, UserPtr: "passive",
		}},
		"GET": {func(f *eventFixture) portals.MDHandle {
			md := f.passive(gets)
			f.arrive(getHeader(wire.GetCmd{ReturnMD: handle(1), Portal: 9, MatchBits: 0x42, SrcOffset: 3, SinkLength: 10}))
			if len(f.seen) > 0 {
				f.t.Error("a GET event before the REPLY has left")
			}
			f.net.finalize(f.net.next(), nil)
			return md
		}, portals.Event{ // RLength is 0: the event of a GET does not have the length that was asked for
			Kind: portals.EventGet, Target: here, Initiator: primary, Source: there, Sender: router, MsgType: wire.Get,
			Portal: 9, MatchBits: 0x42, MLength: 10, Offset: 3, Options: gets, UserPtr: "passive",
		}},
		"UNLINK": {func(f *eventFixture) portals.MDHandle {
			md := f.passive(puts)
			f.check(f.MDUnlink(md))
			return md
		}, portals.Event{Kind: portals.EventUnlink, Options: puts, UserPtr: "passive", Unlinked: true}},
	} {
		t.Run(name, func(t *testing.T) { newEventFixture(t).compare(c.run, c.want) })
	}
}

// TestAnswersAvoidPrimaryNID (PT-24): a REPLY and an ACK go to the NID from which the message
// came, not to the primary NID.
func TestAnswersAvoidPrimaryNID(t *testing.T) {
	spec.Covers(t, "PT-24")
	f := newEventFixture(t)
	f.passive(portals.OpPut | portals.OpGet)
	f.arrive(putHeader(1, wire.PutCmd{AckMD: handle(1), Portal: 9, MatchBits: 0x42}))
	f.arrive(getHeader(wire.GetCmd{ReturnMD: handle(1), Portal: 9, MatchBits: 0x42, SinkLength: 1}))
	for _, want := range []wire.MsgType{wire.Ack, wire.Reply} {
		m := f.net.next()
		if m == nil || m.Header.Type != want || m.Header.DestNID != there.NID || m.Header.DestPID != there.PID {
			t.Fatalf("sent %+v, want %v to %v", m, want, there)
		}
		f.net.finalize(m, nil)
	}
}

// TestNIDsOfOnePeer (PT-5): a match entry can name a peer by its primary NID or by the NID from which a message
// comes, on unique portals and on others (lnet_match_md with lnet_nid_to_lpni).
func TestNIDsOfOnePeer(t *testing.T) {
	spec.Covers(t, "PT-5")
	third := nid.ProcessID{NID: nid.MustParse("10.0.0.44@tcp"), PID: there.PID}
	for name, c := range map[string]struct {
		entries []portals.Match
		want    []any // the UserPtr of each event in order: the index of the entry that must take the message
	}{
		"unique, primary":            {[]portals.Match{{ID: primary}}, []any{0}},
		"unique, source":             {[]portals.Match{{ID: there}}, []any{0}},
		"unique, primary goes first": {[]portals.Match{{ID: there}, {ID: primary}}, []any{1, 0}},
		"unique, other":              {[]portals.Match{{ID: third}}, nil},
		"wildcard, primary":          {[]portals.Match{{ID: nid.ProcessID{NID: primary.NID}}}, []any{0}},
		"wildcard, source":           {[]portals.Match{{ID: nid.ProcessID{NID: there.NID}}}, []any{0}},
		"wildcard, in order": {[]portals.Match{
			{ID: nid.ProcessID{NID: there.NID}}, {ID: nid.ProcessID{NID: primary.NID}}, {ID: nid.ProcessID{NID: third.NID}},
		}, []any{0, 1}},
		"ignore bits": {[]portals.Match{{ID: primary, Ignore: 1}, {ID: there, Ignore: 2}}, []any{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newEventFixture(t)
			for i, m := range c.entries {
				f.post(9, m, portals.MD{Threshold: 1, Options: portals.OpPut, Handler: f.see, UserPtr: i})
			}
			for range len(c.entries) {
				f.arrive(putHeader(0, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 9}))
			}
			var got []any
			for _, e := range f.seen {
				got = append(got, e.UserPtr)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("taken by (-want +got):\n%s", diff)
			}
		})
	}
}
