package analyze

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// tape gives an Analyzer the records of a made-up capture.
type tape struct {
	*Analyzer
	now   time.Duration
	frame uint64
	conns int
}

func newTape(cfg Config) *tape { return &tape{Analyzer: New(cfg)} }

// small returns a tape whose Analyzer has the given limits.
func small(l limits) *tape { return &tape{Analyzer: newAnalyzer(Config{Listed: 3}, l)} }

var (
	nodeA   = nid.MustParse("10.0.0.1@tcp")
	nodeB   = nid.MustParse("10.0.0.2@tcp")
	second  = nid.MustParse("10.0.1.1@tcp") // another NID of node A
	routerA = nid.MustParse("10.0.0.9@tcp")
	routerB = nid.MustParse("10.1.0.9@tcp1")
	nodeC   = nid.MustParse("10.1.0.3@tcp1")
)

func (t *tape) give(r capture.Record) {
	t.frame++
	r.Stamp = capture.Stamp{Time: time.Unix(1000, 0).Add(t.now), Frame: t.frame}
	t.Record(&r)
}

// dial opens a connection between two NIDs and exchanges HELLOs.
func (t *tape) dial(a, b nid.NID, typ ksock.ConnType, incarnations ...uint64) *capture.Conn {
	c := t.attempt(a, b)
	t.hello(c, capture.Initiator, typ, incarnations)
	t.hello(c, capture.Acceptor, typ.Invert(), incarnations)
	return c
}

// attempt opens a connection without HELLOs.
func (t *tape) attempt(a, b nid.NID) *capture.Conn {
	t.conns++
	c := &capture.Conn{ID: t.conns, Ends: [2]netip.AddrPort{netip.AddrPortFrom(a.Addr(), 1023), netip.AddrPortFrom(b.Addr(), 988)}}
	t.give(capture.Record{Kind: capture.Opened, Conn: c})
	c.Version = ksock.V3
	return c
}

func (t *tape) hello(c *capture.Conn, from capture.Side, typ ksock.ConnType, incarnations []uint64) {
	net := nid.MustParse("1.1.1.1@tcp").Net()
	if c.Ends[from].Addr().As4()[1] == 1 {
		net = nodeC.Net()
	}
	h := ksock.Hello{Version: ksock.V3, SrcNID: nid.FromAddr(net, c.Ends[from].Addr()), ConnType: typ}
	if len(incarnations) > 0 {
		h.SrcIncarnation = incarnations[from]
	}
	c.NIDs[from] = h.SrcNID
	t.give(capture.Record{Kind: capture.Hello, Conn: c, From: from, Hello: h})
}

func (t *tape) close(c *capture.Conn, cause error) {
	t.give(capture.Record{Kind: capture.Closed, Conn: c, Err: cause})
}

// header returns a header from one NID to another. The function set fills in the other fields.
func header(from, to nid.NID, set func(*wire.Header)) wire.Header {
	h := wire.Header{SrcNID: from, DestNID: to}
	set(&h)
	return h
}

func handle(n uint64) wire.MDHandle { return wire.MDHandle{Interface: 77, Object: n} }

func put(from, to nid.NID, n uint64) wire.Header {
	return header(from, to, func(h *wire.Header) {
		h.SetPut(wire.PutCmd{AckMD: handle(n), MatchBits: n, Portal: 40})
		h.PayloadLength = 100
	})
}

func ack(from, to nid.NID, n uint64) wire.Header {
	return header(from, to, func(h *wire.Header) { h.SetAck(wire.AckCmd{DstMD: handle(n), MatchBits: n}) })
}

func get(from, to nid.NID, n uint64) wire.Header {
	return header(from, to, func(h *wire.Header) { h.SetGet(wire.GetCmd{ReturnMD: handle(n), SinkLength: 50}) })
}

func reply(from, to nid.NID, n uint64) wire.Header {
	return header(from, to, func(h *wire.Header) { h.SetReply(wire.ReplyCmd{DstMD: handle(n)}) })
}

// request is a PUT without an ACK to a portal of ptlrpc.
func request(from, to nid.NID, portal uint32, n uint64) wire.Header {
	return header(from, to, func(h *wire.Header) {
		h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: n, Portal: portal})
		h.PayloadLength = 512
	})
}

// send gives the Analyzer a message that was sent on connection c, by the side in the parameter
// from.
func (t *tape) send(c *capture.Conn, from capture.Side, h wire.Header) {
	t.give(capture.Record{Kind: capture.Message, Conn: c, From: from, Header: h, Framed: true, Ksock: ksock.MsgHeader{Type: ksock.LNet}})
}

func (t *tape) report() *Report { return t.Report(time.Time{}) }

// only returns the row of a kind, which must be the only one.
func (t *tape) only(tb testing.TB, k Kind) Counts {
	tb.Helper()
	var rows []Counts
	for _, row := range t.report().Kinds {
		if row.Kind == k {
			rows = append(rows, row.Counts)
		}
	}
	if len(rows) != 1 {
		tb.Fatalf("%d rows of %v", len(rows), k)
	}
	return rows[0]
}

// counts are the numbers of operations that a test expects.
type counts struct {
	asked, answered, unanswered, resent, copies, repeated, forwarded uint64
}

func (c Counts) short() counts {
	return counts{c.Asked, c.Answered, c.Unanswered, c.Resent, c.Copies, c.Repeated, c.Forwarded}
}

// rdma opens a connection of o2iblnd with the given queue depth.
func (t *tape) rdma(depth uint16) *capture.Conn {
	c := t.attempt(nodeA, nodeB)
	c.RoCE, c.NIDs = true, [2]nid.NID{nodeA, nodeB}
	cm := func(from capture.Side, attribute uint16) {
		x := &capture.RoCE{HasMsg: true, Msg: kib.Msg{Params: kib.ConnParams{QueueDepth: depth}}}
		setAttribute(x, attribute)
		t.give(capture.Record{Kind: capture.CMMessage, Conn: c, From: from, RoCE: x})
	}
	cm(capture.Initiator, 0x10) // a REQ, which requests a connection
	cm(capture.Acceptor, 0x13)  // a REP, which accepts the connection
	return c
}
