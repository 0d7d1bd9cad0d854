package analyze

import (
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// onlyLink returns the only link of a report.
func (t *tape) onlyLink(tb testing.TB) Link {
	tb.Helper()
	links := t.report().Links
	if len(links) != 1 {
		tb.Fatalf("%d links: %+v", len(links), links)
	}
	return links[0]
}

// TestReconnects: a connection that replaces an ended one of the same type is a reconnect, whichever side
// opens it. A further connection of a type of which none has ended is no reconnect.
func TestReconnects(t *testing.T) {
	spec.Covers(t, "DG-5")
	p := newTape(Config{})
	control, bulk := p.dial(nodeA, nodeB, ksock.Control, 5, 6), p.dial(nodeA, nodeB, ksock.BulkIn, 5, 6)
	p.dial(nodeA, nodeB, ksock.BulkIn, 5, 6)
	if got := p.onlyLink(t).LinkCounts; got != (LinkCounts{Connections: 3, Open: 3, MostOpen: 3}) {
		t.Errorf("at first: %+v", got)
	}
	p.close(control, nil)
	p.close(bulk, capture.ErrReset)
	p.dial(nodeB, nodeA, ksock.BulkOut, 7, 5) // replaces the connection bulk, which also carried data from B to A; B has a new incarnation
	p.dial(nodeA, nodeB, ksock.BulkOut, 5, 7) // no reconnect, because no connection for bulk data from A to B has ended
	refused := p.attempt(nodeA, nodeB)
	p.hello(refused, near, ksock.Control, nil)
	p.hello(refused, far, ksock.None, nil)
	p.close(refused, nil)
	failed := p.attempt(nodeA, nodeB)
	p.give(capture.Record{Kind: capture.Request, Conn: failed, Request: wire.AcceptorRequest{NID: nodeB}})
	p.hello(failed, near, ksock.Control, nil)
	p.close(failed, capture.ErrReset)
	p.close(p.attempt(nodeB, nodeA), capture.ErrReset) // counts as failed, although neither side has sent a HELLO
	got := p.onlyLink(t)
	want := LinkCounts{Connections: 5, Open: 3, MostOpen: 3, Ended: 2, Reset: 1, Reconnects: 1, Refused: 1, Failed: 2}
	if diff := diff.Diff(want, got.LinkCounts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got.Sides[0].Restarts != 0 || got.Sides[1].Restarts != 1 {
		t.Errorf("restarts %d, %d", got.Sides[0].Restarts, got.Sides[1].Restarts)
	}
}

// TestOpenEnd: a connection that is open at the end of the capture has not ended.
func TestOpenEnd(t *testing.T) {
	spec.Covers(t, "DG-5")
	p := newTape(Config{})
	p.close(p.dial(nodeA, nodeB, ksock.Control), capture.ErrOpenEnd)
	if got := p.onlyLink(t).LinkCounts; got != (LinkCounts{Connections: 1, Open: 1, MostOpen: 1}) {
		t.Errorf("%+v", got)
	}
}

// TestEvicted: a connection that the dissector no longer follows, because too many are open, does not count as ended.
func TestEvicted(t *testing.T) {
	spec.Covers(t, "DG-5")
	p := newTape(Config{})
	p.close(p.dial(nodeA, nodeB, ksock.Control), capture.ErrEvicted)
	if got := p.onlyLink(t).LinkCounts; got != (LinkCounts{Connections: 1, MostOpen: 1}) {
		t.Errorf("%+v", got)
	}
}

// TestNoFailedAttempt: a connection that was never established failed only if the capture has its beginning and its end,
// and if it is one of LNet.
func TestNoFailedAttempt(t *testing.T) {
	spec.Covers(t, "DG-5")
	for name, tt := range map[string]struct {
		change func(*capture.Conn)
		cause  error
	}{
		"begins and ends inside a message": {func(c *capture.Conn) { c.MidStream = true }, nil},
		"the capture ends":                 {func(*capture.Conn) {}, capture.ErrOpenEnd},
		"too many connections":             {func(*capture.Conn) {}, capture.ErrEvicted},
		"RDMA of another program":          {func(c *capture.Conn) { c.RoCE = true }, nil},
	} {
		p := newTape(Config{})
		c := p.attempt(nodeA, nodeB)
		tt.change(c)
		p.close(c, tt.cause)
		for _, l := range p.report().Links {
			if l.LinkCounts != (LinkCounts{}) || tt.cause == nil && c.RoCE {
				t.Errorf("%s: %+v", name, l)
			}
		}
	}
	p := newTape(Config{})
	c := p.attempt(nodeA, nodeB)
	c.RoCE = true
	for side, attribute := range []uint16{0x10, 0x12} { // another program's request, which is refused
		x := &capture.RoCE{}
		setAttribute(x, attribute)
		p.give(capture.Record{Kind: capture.CMMessage, Conn: c, From: capture.Side(side), RoCE: x})
	}
	p.close(c, capture.ErrRejected)
	if links := p.report().Links; len(links) != 0 {
		t.Errorf("another program's request: %+v", links[0].LinkCounts)
	}
	c = p.attempt(nodeA, nodeB)
	c.RoCE = true
	x := &capture.RoCE{HasMsg: true}
	setAttribute(x, 0x10)
	p.give(capture.Record{Kind: capture.CMMessage, Conn: c, RoCE: x})
	p.close(c, nil)
	if got := p.onlyLink(t).LinkCounts; got != (LinkCounts{Failed: 1}) {
		t.Errorf("a request of o2iblnd without an answer: %+v", got)
	}
}

// TestSilence: a time in which neither side says anything counts while a connection is open, and is
// a gap if it is longer than keepalive allows.
func TestSilence(t *testing.T) {
	spec.Covers(t, "DG-6")
	p := newTape(Config{})
	c := p.dial(nodeA, nodeB, ksock.Control)
	p.now += 40 * time.Second // this silence is no gap: keepalive allows it, because its timers may be late
	p.keepalive(c, near)
	p.now += 46 * time.Second
	p.keepalive(c, far)
	p.close(c, nil)
	p.now += time.Hour // no connection is open during this hour, so it does not count as silence
	c = p.dial(nodeA, nodeB, ksock.Control)
	p.now += time.Second
	p.close(c, capture.ErrOpenEnd)
	want := Silence{Longest: 46 * time.Second, Since: 40 * time.Second, Gaps: 1}
	if got := p.onlyLink(t); got.Silence != want || got.Sides[0].Keepalives != 1 || got.Sides[1].Keepalives != 1 {
		t.Errorf("%+v, want %+v", got, want)
	}
	old := newTape(Config{})
	c = old.dial(nodeA, nodeB, ksock.Control)
	c.Version = ksock.V2 // version 2 has no keepalive, so no silence is a gap
	old.now = time.Hour
	old.close(c, nil)
	if got := old.onlyLink(t).Silence; got.Gaps != 0 || got.Longest != time.Hour {
		t.Errorf("v2: %+v", got)
	}
}

func (t *tape) keepalive(c *capture.Conn, from capture.Side) {
	t.noop(c, from, 0, 1)
}

func (t *tape) noop(c *capture.Conn, from capture.Side, first, last uint64) {
	t.give(capture.Record{Kind: capture.Noop, Conn: c, From: from, Ksock: ksock.MsgHeader{Type: ksock.Noop, Cookies: [2]uint64{first, last}}})
}

// TestZeroCopy: a cookie is followed until it comes back in a NOOP or message of the other side. A
// side is stalled while as many of its cookies are under way as it has credits.
func TestZeroCopy(t *testing.T) {
	spec.Covers(t, "DG-7")
	p := newTape(Config{PeerCredits: 3})
	c := p.dial(nodeA, nodeB, ksock.BulkOut)
	zc := func(from capture.Side, cookie, ack uint64) {
		h := put(nodeA, nodeB, 0)
		p.give(capture.Record{Kind: capture.Message, Conn: c, From: from, Header: h, Framed: true, Ksock: ksock.MsgHeader{Type: ksock.LNet, Cookies: [2]uint64{cookie, ack}}})
	}
	zc(near, 2, 0)
	zc(near, 3, 0)
	p.now = time.Second
	zc(near, 4, 0) // the third cookie under way: the side is stalled
	p.now = 3 * time.Second
	zc(far, 2, 3) // this message has a cookie of its own, and brings cookie 3 back
	p.now = 4 * time.Second
	p.noop(c, far, 2, 4)
	p.noop(c, far, 2, 4) // a repeated NOOP has no effect: its cookies are not under way any more
	want := ZeroCopy{Requests: 3, Acked: 3, Slowest: 4 * time.Second, Mean: 10 * time.Second / 3, Full: Stalls{1, 2 * time.Second, 2 * time.Second}}
	got := p.onlyLink(t).Sides
	if diff := diff.Diff(want, got[0].ZeroCopy); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got[1].ZeroCopy.Requests != 1 || got[1].ZeroCopy.Acked != 0 {
		t.Errorf("the other side: %+v", got[1].ZeroCopy)
	}
}

// zeroCopy sends messages with cookies.
func (t *tape) zeroCopy(c *capture.Conn, cookies ...uint64) {
	for _, n := range cookies {
		t.give(capture.Record{Kind: capture.Message, Conn: c, From: near, Header: put(nodeA, nodeB, 0), Framed: true, Ksock: ksock.MsgHeader{Type: ksock.LNet, Cookies: [2]uint64{n, 0}}})
	}
}

// TestStallLasts: a stall that has not ended counts up to the time of the report.
func TestStallLasts(t *testing.T) {
	spec.Covers(t, "DG-7")
	p := newTape(Config{PeerCredits: 3})
	p.zeroCopy(p.dial(nodeA, nodeB, ksock.BulkOut), 2, 3, 4)
	r := p.Report(p.start.Add(60 * time.Second))
	if got, want := r.Links[0].Sides[0].ZeroCopy.Full, (Stalls{1, 60 * time.Second, 60 * time.Second}); got != want {
		t.Errorf("cookies: %+v, want %+v", got, want)
	}
	p = newTape(Config{})
	p.now = time.Second
	c := p.rdma(1)
	x := &capture.RoCE{HasMsg: true, Msg: kib.Msg{Header: kib.Header{Type: kib.Immediate, Version: kib.V2}}}
	p.give(capture.Record{Kind: capture.Exchange, Conn: c, From: near, RoCE: x})
	r = p.Report(p.start.Add(60 * time.Second))
	if got, want := r.Links[0].Sides[0].NoCredit, (Stalls{1, 60 * time.Second, 60 * time.Second}); got != want {
		t.Errorf("credits: %+v, want %+v", got, want)
	}
	p.now += 5 * time.Second
	p.close(c, nil)
	if got, want := p.onlyLink(t).Sides[0].NoCredit, (Stalls{1, 5 * time.Second, 5 * time.Second}); got != want {
		t.Errorf("credits, after the end: %+v, want %+v", got, want)
	}
}

// TestCookiesOfBrokenConnection: cookies that were under way when the last connection ended, or when a node
// restarted, cannot come back, and no longer count as a stall.
func TestCookiesOfBrokenConnection(t *testing.T) {
	spec.Covers(t, "DG-7")
	for name, incarnation := range map[string]uint64{"reset": 5, "restart": 7} {
		p := newTape(Config{PeerCredits: 3})
		c := p.dial(nodeA, nodeB, ksock.BulkOut, 5, 6)
		p.zeroCopy(c, 2, 3, 4)
		p.now = 5 * time.Second
		if name == "reset" {
			p.close(c, capture.ErrReset)
		}
		c = p.dial(nodeA, nodeB, ksock.BulkOut, incarnation, 6)
		p.now = time.Minute
		p.zeroCopy(c, 2)
		p.now += time.Second
		p.noop(c, far, 2, 4)
		want := ZeroCopy{Requests: 4, Acked: 1, Slowest: time.Second, Mean: time.Second, Full: Stalls{1, 5 * time.Second, 5 * time.Second}}
		if diff := diff.Diff(want, p.onlyLink(t).Sides[0].ZeroCopy); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// TestCookiesBounded: cookies beyond the bound are counted and not followed.
func TestCookiesBounded(t *testing.T) {
	spec.Covers(t, "DG-8")
	l := usualLimits
	l.cookies = 2
	p := small(l)
	c := p.dial(nodeA, nodeB, ksock.BulkOut)
	for n := range uint64(5) {
		p.give(capture.Record{Kind: capture.Message, Conn: c, Header: put(nodeA, nodeB, n), Framed: true, Ksock: ksock.MsgHeader{Type: ksock.LNet, Cookies: [2]uint64{n + 2, 0}}})
	}
	if r := p.report(); r.Forgotten.Cookies != 3 || r.Links[0].Sides[0].ZeroCopy.Unknown != 3 {
		t.Errorf("%+v", r.Forgotten)
	}
}

// TestCredits: a side of o2iblnd without a credit cannot send until the other gives one back.
func TestCredits(t *testing.T) {
	spec.Covers(t, "DG-7")
	p := newTape(Config{})
	c := p.rdma(8)
	say := func(from capture.Side, typ kib.MsgType, credits uint8) {
		x := &capture.RoCE{HasMsg: true, Msg: kib.Msg{Header: kib.Header{Type: typ, Version: kib.V2, Credits: credits}}}
		p.give(capture.Record{Kind: capture.Exchange, Conn: c, From: from, RoCE: x})
	}
	for range 7 {
		say(near, kib.Immediate, 0)
	}
	say(near, kib.PutDone, 0) // a PUT_DONE takes no credit
	if got := p.onlyLink(t).Sides[0].NoCredit; got.Count != 0 {
		t.Errorf("with one left: %+v", got)
	}
	say(near, kib.PutReq, 0)
	p.now = 3 * time.Second
	say(far, kib.Noop, 8)
	p.now = 5 * time.Second
	for range 8 {
		say(near, kib.GetReq, 0)
	}
	p.now = 6 * time.Second
	p.close(c, nil)
	got := p.onlyLink(t)
	if want := (Stalls{2, 4 * time.Second, 3 * time.Second}); got.Sides[0].NoCredit != want || got.Sides[1].CreditsReturned != 8 || !got.RDMA {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got.Sides[1].NoCredit.Count != 0 || got.Connections != 1 || got.Ended != 1 {
		t.Errorf("%+v", got)
	}
}

// TestRejected: a REJ of the connection manager is a refusal.
func TestRejected(t *testing.T) {
	p := newTape(Config{})
	c := p.attempt(nodeA, nodeB)
	c.RoCE = true
	x := &capture.RoCE{HasReject: true}
	x.CM.MAD.Attribute = ibta.AttrREJ
	p.give(capture.Record{Kind: capture.CMMessage, Conn: c, From: far, RoCE: x})
	p.close(c, capture.ErrRejected)
	if got := p.onlyLink(t).LinkCounts; got != (LinkCounts{Refused: 1}) {
		t.Errorf("%+v", got)
	}
}

// TestBoundedLinks: links and connections beyond the bounds are counted.
func TestBoundedLinks(t *testing.T) {
	spec.Covers(t, "DG-8")
	l := usualLimits
	l.links, l.conns = 2, 3
	p := small(l)
	for n := range uint32(5) {
		p.dial(nodeA, nid.FromNumber(nodeA.Net(), 0x0a000100+n), ksock.Control)
	}
	r := p.report()
	if r.Forgotten.Connections != 2 || len(r.Links) != 3 || r.Links[0].Ends[0].String() != "others" {
		t.Errorf("%+v, %+v", r.Forgotten, r.Links)
	}
}

// TestTCPCounts: what TCP did is counted for the side that did it.
func TestTCPCounts(t *testing.T) {
	spec.Covers(t, "DG-7")
	p := newTape(Config{})
	c := p.dial(nodeB, nodeA, ksock.Control)
	c.TCP = [2]capture.TCPCounts{{Repeated: 3}, {Late: 2, ZeroWindows: 1, ZeroWindow: time.Second}}
	p.close(c, nil)
	got := p.onlyLink(t).Sides
	if got[0].TCP != (TCP{Late: 2, ZeroWindows: 1, ZeroWindow: time.Second}) || got[1].TCP != (TCP{Repeated: 3}) {
		t.Errorf("%+v", got)
	}
}
