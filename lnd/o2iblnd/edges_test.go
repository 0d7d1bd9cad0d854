package o2iblnd

import (
	"bytes"
	"context"
	"net/netip"
	"sync"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/nid"
	lnetwire "ulnet/lnet/wire"
)

// answering is the lnet of a node that answers each GET at once.
type answering struct {
	sink
	ni *NI
}

func (u *answering) Delivered(d *lnd.Delivery, err error) {
	if d.Header.Type == lnetwire.Get {
		get := d.Header.Get()
		m := newMessage(u.ni, d.Header.SrcNID, int(get.SinkLength))
		m.Header.SetReply(lnetwire.ReplyCmd{DstMD: get.ReturnMD})
		u.ni.Send(m)
	}
	u.sink.Delivered(d, err)
}

func newGet(from *NI, to nid.NID, into []byte) *lnd.Message {
	m := newMessage(from, to, 0)
	m.Header.SetGet(lnetwire.GetCmd{ReturnMD: lnetwire.MDHandle{Interface: 1, Object: 2}, SinkLength: uint32(len(into))})
	m.Payload, m.Sink = lnd.Payload{}, lnd.Payload{Segments: [][]byte{into}, Length: len(into)}
	return m
}

// newAsking brings up two NIs, of which the second answers the GETs of the first.
func newAsking(t *testing.T) (a *sink, x, y *NI) {
	at := loopbackAddrs(2)
	a, b := new(sink), new(answering)
	x = start(t, at[0], softroce.Open, Config{}, a)
	b.ni = start(t, at[1], softroce.Open, Config{}, b)
	t.Cleanup(func() { shut(x); shut(b.ni) })
	return a, x, b.ni
}

// TestHeldReply: a GET_DONE stands for a REPLY. lnet may hold it as any other message, and then take
// its payload to another sink than that of the GET.
func TestHeldReply(t *testing.T) {
	for _, n := range []int{100, 5000} {
		a, x, y := newAsking(t)
		a.hold = true
		x.Send(newGet(x, y.nid, make([]byte, n)))
		a.await(t, "held REPLY", func() bool { return len(a.held) == 1 && a.finished == 1 })
		d := a.held[0]
		if d.Header.Type != lnetwire.Reply || int(d.Header.PayloadLength) != n {
			t.Errorf("%+v", d.Header)
		}
		got := make([]byte, n)
		d.Sink = lnd.Payload{Segments: [][]byte{got}, Length: n}
		x.Recv(d)
		if a.arrived != 1 || len(a.errs) > 0 || !bytes.Equal(got, noise[:n]) {
			t.Errorf("%d arrived, %v", a.arrived, a.errs)
		}
	}
}

// TestHeldReplyGone: the connection ends while lnet holds two REPLYs. lnet gives up the one, and calls Recv
// for the other one, which is then delivered with an error.
func TestHeldReplyGone(t *testing.T) {
	a, x, y := newAsking(t)
	a.hold = true
	for range 2 {
		x.Send(newGet(x, y.nid, make([]byte, 5000)))
	}
	a.await(t, "held REPLYs", func() bool { return len(a.held) == 2 })
	a.mu.Lock()
	wanted := a.held[1]
	a.held = a.held[:1:1]
	a.mu.Unlock()
	shut(y)
	a.await(t, "end", func() bool { return a.abandons == 1 && len(a.downs) == 1 })
	x.Recv(wanted)
	if a.arrived != 1 || len(a.errs) != 1 {
		t.Errorf("%d arrived, errors %v", a.arrived, a.errs)
	}
}

// TestOldest: a snapshot says what has waited longest, for what, and whether the device makes
// progress.
func TestOldest(t *testing.T) {
	at := loopbackAddrs(2)
	x := start(t, at[0], softroce.Open, Config{}, new(sink))
	y := start(t, at[1], softroce.Open, Config{}, new(sink)) // the lnet of y answers no GET
	defer shut(x)
	defer shut(y)
	x.Send(newGet(x, y.nid, make([]byte, 5000)))
	var s ConnSnapshot
	left := patient(func() bool {
		if all := x.Snapshot().Peers; len(all) == 1 && len(all[0].Conns) == 1 {
			s = all[0].Conns[0]
		}
		return s.TxMessages == 1 && s.Posted == 0 && s.Transport.InFlight == 0 && s.Oldest > 0
	})
	if !left || s.OldestIs != "GET_REQ: the peer's answer" || s.Transfers != 1 || s.Queued != 0 || s.Transport.Window == 0 || s.Transport.Silent != 0 {
		t.Errorf("%+v", s)
	}
}

// TestReplyTooLate: lnet sends a REPLY, but the GET_REQ that it answers no longer waits. The REPLY fails at
// once. It is not sent as a message of its own, because lnet has given it to the driver without credits.
func TestReplyTooLate(t *testing.T) {
	at := loopbackAddrs(2)
	b := new(sink)
	x := start(t, at[0], softroce.Open, Config{}, new(sink))
	y := start(t, at[1], softroce.Open, Config{}, b)
	defer shut(x)
	defer shut(y)
	for i, n := range []int{0, 100, 5000} { // without payload, short enough for an IMMEDIATE, long enough for RDMA
		m := newMessage(y, x.nid, n)
		m.Header.SetReply(lnetwire.ReplyCmd{DstMD: lnetwire.MDHandle{Interface: 1, Object: 2}})
		m.RDMAReply = true
		y.Send(m)
		if b.finished != i+1 || y.counts[NoReply].Load() != uint64(i+1) || y.messages.Len() != 0 {
			t.Errorf("%d bytes: %d finalized, %d counted, %d left", n, b.finished, y.counts[NoReply].Load(), y.messages.Len())
		}
	}
}

// TestLongSink: a GET for more bytes than a message can carry is not sent as a GET_REQ, which
// offers memory to the peer: the peer would take an offer of so much for a breach of protocol.
func TestLongSink(t *testing.T) {
	for _, tt := range []struct {
		n    int
		want kib.MsgType
	}{{3976, kib.Immediate}, {3977, kib.GetReq}, {lnd.MaxPayload, kib.GetReq}, {lnd.MaxPayload + 1, kib.Immediate}} {
		m := newGet(&NI{nid: lowNID}, highNID, make([]byte, tt.n))
		if got := protocolOf(m); got != tt.want {
			t.Errorf("a GET of %d bytes is sent as %v, want %v", tt.n, got, tt.want)
		}
	}
	m := newGet(&NI{nid: lowNID}, highNID, make([]byte, 5000))
	if m.Target.NID = nid.MustParse("10.10.0.9@o2ib"); protocolOf(m) != kib.Immediate {
		t.Error("a router is to write to the sink")
	}
}

// TestRequestOfRemoved: a request that comes while its peer is being removed from the table
// goes to the new peer of that NID.
func TestRequestOfRemoved(t *testing.T) {
	at := loopbackAddrs(2)
	ni := start(t, at[0], softroce.Open, Config{}, new(sink))
	defer shut(ni)
	a := &asked{from: netip.AddrPortFrom(at[1], 1023)}
	old := ni.peers.Get(nid.FromAddr(ni.nid.Net(), at[1]))
	ni.scan()
	if old.request(a, a.request(ni)) || a.events != nil {
		t.Error("a peer that is not in the table accepts a connection")
	}
	ni.request(a, a.request(ni))
	if len(ni.Snapshot().Peers) != 1 || a.events == nil {
		t.Errorf("no peer has the connection: %+v", ni.Snapshot().Peers)
	}
	a.events(a, verbs.Event{Kind: verbs.Disconnected})
}

// TestShutdownWhileAsking: an NI shuts down while both sides request connections, and while the test takes a
// snapshot of the NI's state. The message that the NI was sending ends, and no connection is left.
func TestShutdownWhileAsking(t *testing.T) {
	at := loopbackAddrs(2)
	other := start(t, at[1], softroce.Open, Config{}, new(sink))
	defer shut(other)
	for incarnation := range 30 {
		up := new(sink)
		ni := start(t, at[0], softroce.Open, Config{}, up, func(c *lnd.Config) { c.Incarnation = uint64(incarnation + 1) })
		var wg sync.WaitGroup
		wg.Go(func() { ni.Send(newMessage(ni, other.nid, 100)) })
		wg.Go(func() { other.Send(newMessage(other, ni.nid, 100)) })
		wg.Go(func() { ni.Snapshot() })
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = ni.Shutdown(ctx)
		})
		wg.Wait()
		if up.finished != 1 || ni.conns.len() != 0 {
			t.Fatalf("%d messages finalized, %d connections left", up.finished, ni.conns.len())
		}
	}
}
