//go:build linux

package main_test

import (
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// consumerDefined is the reason code of a REJ whose private data has the actual reason.
const consumerDefined = 28

// rogueRequests are connection requests that the daemon must refuse.
var rogueRequests = []struct {
	name   string
	change func(m *kib.Msg)
	spoil  func(b []byte)
	why    kib.Why
	want   o2iblnd.Reason
}{
	{name: "wrong magic", spoil: func(b []byte) { b[0]++ }, why: kib.Fatal, want: o2iblnd.RequestMagic},
	{name: "nothing", spoil: func(b []byte) { clear(b) }, why: kib.Fatal, want: o2iblnd.RequestMagic},
	{name: "version 9", spoil: func(b []byte) { b[4] = 9 }, why: kib.Fatal, want: o2iblnd.RequestVersion},
	{name: "unknown type", spoil: func(b []byte) { b[6] = 0xFF }, why: kib.Fatal, want: o2iblnd.RequestBad},
	{name: "longer than it is", spoil: func(b []byte) { b[8] = 200 }, why: kib.Fatal, want: o2iblnd.RequestBad},
	{name: "wrong checksum", change: func(m *kib.Msg) { m.Checksum = 7 }, why: kib.Fatal, want: o2iblnd.RequestBad},
	{name: "CONNACK", change: func(m *kib.Msg) { m.Type = kib.ConnAck }, why: kib.Fatal, want: o2iblnd.RequestType},
	{name: "for another node", change: func(m *kib.Msg) { m.DstNID = nid.MustParse("127.0.0.99@o2ib") }, why: kib.Fatal, want: o2iblnd.ForeignNID},
	{name: "for another net", change: func(m *kib.Msg) { m.DstNID = nid.MustParse(besiegedAddr + "@o2ib5") }, why: kib.Fatal, want: o2iblnd.ForeignNID},
	{name: "in the good peer's name", change: func(m *kib.Msg) { m.SrcNID = nid.MustParse(goodAddr + "@o2ib") }, why: kib.Fatal, want: o2iblnd.RequestSource},
	{name: "in the daemon's name", change: func(m *kib.Msg) { m.SrcNID = m.DstNID }, why: kib.Fatal, want: o2iblnd.RequestSource},
	{name: "for an earlier life", change: func(m *kib.Msg) { m.DstStamp = 1 }, why: kib.ConnStale, want: o2iblnd.RefusedStale},
	{name: "65535 messages at a time", change: func(m *kib.Msg) { m.Params.QueueDepth = 1<<16 - 1 }, why: kib.MsgQueueSize, want: o2iblnd.RefusedDepth},
	{name: "no message at a time", change: func(m *kib.Msg) { m.Params.QueueDepth = 0 }, why: kib.MsgQueueSize, want: o2iblnd.RefusedDepth},
	{name: "65535 fragments", change: func(m *kib.Msg) { m.Params.MaxFrags = 1<<16 - 1 }, why: kib.RDMAFrags, want: o2iblnd.RefusedFrags},
	{name: "messages of 4 GiB", change: func(m *kib.Msg) { m.Params.MaxMsgSize = 1<<32 - 1 }, why: kib.Fatal, want: o2iblnd.RefusedSize},
}

// requests sends each of rogueRequests.
func (b *blockade) requests(t *testing.T) {
	r := b.rogue(t, rogueAddr)
	for _, test := range effort.Some(3, rogueRequests) {
		t.Run(test.name, func(t *testing.T) {
			before, m := b.daemon.Reasons(), r.request()
			if test.change != nil {
				test.change(&m)
			}
			private := encode(t, m)
			if test.spoil != nil {
				test.spoil(private)
			}
			_, e := r.ask(private)
			reject, err := kib.ParseReject(e.Private)
			if e.Kind != verbs.Rejected || e.Reason != consumerDefined || err != nil || reject.Why != test.why {
				t.Errorf("event %v with reason %d, %v, %v; want %v", e.Kind, e.Reason, reject.Why, err, test.why)
			}
			b.wantReasons(t, before, test.want)
			b.unharmed(t)
		})
	}
	b.goesOn(t)
}

// rogueMessages are messages that end the connection on which they arrive.
var rogueMessages = []struct {
	name string
	send func(l *link) []verbs.SendWR
	want o2iblnd.Reason
}{
	{"nothing", sends(func(*link) []byte { return nil }), o2iblnd.BadMessage},
	{"no message", sends(func(*link) []byte { return evil }), o2iblnd.BadMessage},
	{"wrong magic", says(nil, func(b []byte) { b[0]++ }), o2iblnd.BadMessage},
	{"version 1", says(func(m *kib.Msg) { m.Version = kib.V1 }), o2iblnd.BadMessage},
	{"longer than it is", says(nil, func(b []byte) { b[8]++ }), o2iblnd.BadMessage},
	{"wrong checksum", says(func(m *kib.Msg) { m.Checksum = 7 }), o2iblnd.BadChecksum},
	{"in the good peer's name", says(func(m *kib.Msg) { m.SrcNID = nid.MustParse(goodAddr + "@o2ib") }), o2iblnd.StaleMessage},
	{"of another life", says(func(m *kib.Msg) { m.SrcStamp++ }), o2iblnd.StaleMessage},
	{"for another life", says(func(m *kib.Msg) { m.DstStamp++ }), o2iblnd.StaleMessage},
	{"255 credits", says(func(m *kib.Msg) { m.Credits = 255 }), o2iblnd.CreditsReturned},
	{"CONNREQ", says(func(m *kib.Msg) { m.Type = kib.ConnReq }), o2iblnd.UnexpectedType},
	{"CONNACK", says(func(m *kib.Msg) { m.Type = kib.ConnAck }), o2iblnd.UnexpectedType},
	{"PUT_DONE of nothing", says(func(m *kib.Msg) { m.Type, m.Cookie = kib.PutDone, 5 }), o2iblnd.UnknownCookie},
	{"GET_DONE of nothing", says(func(m *kib.Msg) { m.Type, m.Cookie = kib.GetDone, 5 }), o2iblnd.UnknownCookie},
	{"PUT for another node", says(func(m *kib.Msg) {
		m.Type, m.LNet = kib.Immediate, putOf(m.SrcNID, nid.MustParse("127.0.0.99@o2ib"), 0)
	}), o2iblnd.Refused},
	{"PUT of 4 GiB", says(func(m *kib.Msg) { m.Type, m.LNet = kib.Immediate, putOf(m.SrcNID, m.DstNID, 1<<32-1) }), o2iblnd.BadMessage},
	{"GET into 2 MiB", says(func(m *kib.Msg) {
		m.Type, m.LNet, m.Cookie = kib.GetReq, getOf(m.SrcNID, m.DstNID), 9
		m.Desc, _ = kib.MakeDesc(nil, 1, kib.Frag{Length: 1 << 21})
	}), o2iblnd.BadDescriptor},
	{"GET into memory that is not there", says(func(m *kib.Msg) {
		m.Type, m.LNet, m.Cookie = kib.GetReq, getOf(m.SrcNID, m.DstNID), 9
		m.Desc, _ = kib.MakeDesc(nil, 0x1234, kib.Frag{Length: 4096})
	}), o2iblnd.TransportFailed},
	{"WRITE with a wrong RKey", func(*link) []verbs.SendWR {
		return []verbs.SendWR{{
			Op: verbs.Write, Pieces: []verbs.SGE{{Bytes: evil}}, RKey: 0x1234, Remote: verbs.Frag{Address: 4096, Length: uint32(len(evil))},
		}}
	}, o2iblnd.TransportFailed},
	{"WRITE everywhere", func(*link) (list []verbs.SendWR) {
		for key := range uint32(50) {
			list = append(list, verbs.SendWR{
				Op: verbs.Write, Pieces: []verbs.SGE{{Bytes: evil}}, RKey: key << 8, Remote: verbs.Frag{Address: uint64(key) << 12, Length: uint32(len(evil))},
			})
		}
		return list
	}, o2iblnd.TransportFailed},
}

// sends returns a function that posts one message.
func sends(message func(l *link) []byte) func(l *link) []verbs.SendWR {
	return func(l *link) []verbs.SendWR {
		return []verbs.SendWR{{Op: verbs.Send, Pieces: []verbs.SGE{{Bytes: message(l)}}}}
	}
}

// says returns a function that posts a NOOP, which is valid except for the given change.
func says(change func(m *kib.Msg), spoil ...func(b []byte)) func(l *link) []verbs.SendWR {
	return sends(func(l *link) []byte {
		m := kib.Msg{Header: l.r.header(kib.Noop, l.stamp), Params: l.r.request().Params}
		if change != nil {
			change(&m)
		}
		b := encode(l.r.t, m)
		for _, f := range spoil {
			f(b)
		}
		return b
	})
}

func putOf(src, dst nid.NID, length uint32) wire.Header {
	h := wire.Header{SrcNID: src, DestNID: dst, SrcPID: nid.LustrePID, DestPID: nid.LustrePID}
	h.SetPut(wire.PutCmd{AckMD: wire.NoHandle()})
	h.PayloadLength = length
	return h
}

// getOf returns a GET that requests the memory that the daemon offers to the good peer.
func getOf(src, dst nid.NID) wire.Header {
	h := wire.Header{SrcNID: src, DestNID: dst, SrcPID: nid.LustrePID, DestPID: nid.LustrePID}
	h.SetGet(wire.GetCmd{ReturnMD: wire.MDHandle{Interface: 1, Object: 2}, MatchBits: steadyBits, Portal: steadyPortal, SinkLength: 4096})
	return h
}

// messages sends each of rogueMessages, or every third one in a short run, each on a new connection
// of a peer that has behaved well so far. The daemon must end that connection.
func (b *blockade) messages(t *testing.T) {
	r := b.rogue(t, rogueAddr)
	for _, test := range effort.Some(3, rogueMessages) {
		t.Run(test.name, func(t *testing.T) {
			r.t = t
			before, l := b.daemon.Reasons(), r.connect()
			if err := l.PostSend(test.send(l)); err != nil {
				t.Fatal(err)
			}
			if e := l.next(); e.Kind != verbs.Disconnected {
				t.Errorf("%+v", e)
			}
			b.wantReasons(t, before, test.want)
			b.unharmed(t)
		})
	}
	b.goesOn(t)
	b.daemon.Until(reaction, "only the good peer's connection", func() bool { return b.daemon.Connections() == 1 })
}
