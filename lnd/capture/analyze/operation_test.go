package analyze

import (
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/wire"
)

const (
	near = capture.Initiator
	far  = capture.Acceptor
)

func setAttribute(x *capture.RoCE, attribute uint16) {
	x.CM.MAD.Attribute = ibta.Attribute(attribute)
}

// TestPairs: a PUT gets its ACK, a GET its REPLY and a request its reply, by handle or match bits,
// whatever comes in between.
func TestPairs(t *testing.T) {
	spec.Covers(t, "DG-1")
	p := newTape(Config{Services: []Service{Ptlrpc()}})
	c := p.dial(nodeA, nodeB, ksock.Control)
	p.send(c, near, put(nodeA, nodeB, 1))
	p.send(c, near, get(nodeA, nodeB, 2))
	p.send(c, near, request(nodeA, nodeB, 12, 3))
	p.send(c, near, put(nodeA, nodeB, 4))
	p.now = 5 * time.Millisecond
	p.send(c, far, request(nodeB, nodeA, 10, 3))
	p.now = 7 * time.Millisecond
	p.send(c, far, reply(nodeB, nodeA, 2))
	p.now = 9 * time.Millisecond
	p.send(c, far, ack(nodeB, nodeA, 4))
	p.send(c, far, ack(nodeB, nodeA, 99)) // no PUT asked for this ACK
	p.now = 10 * time.Millisecond
	p.send(c, far, request(nodeB, nodeA, 5, 3)) // a PUT to a portal that belongs to no service
	r := p.report()
	if got := p.only(t, PutAck).short(); got != (counts{asked: 2, answered: 1, unanswered: 1}) {
		t.Errorf("PUTs: %+v", got)
	}
	if got := p.only(t, GetReply); got.Latency.Max != 7*time.Millisecond || got.Answered != 1 {
		t.Errorf("GETs: %+v", got)
	}
	if got := p.only(t, RequestReply); got.Latency.P50 != 5*time.Millisecond || got.short() != (counts{asked: 1, answered: 1}) {
		t.Errorf("requests: %+v", got)
	}
	if r.Unmatched != (Unmatched{Acks: 1}) {
		t.Errorf("unmatched: %+v", r.Unmatched)
	}
	if len(r.Unanswered) != 1 || r.Unanswered[0].Latency != 10*time.Millisecond || r.Unanswered[0].MatchBits != 1 {
		t.Errorf("unanswered: %+v", r.Unanswered)
	}
	if len(r.Slowest) != 3 || r.Slowest[0].Kind != PutAck || r.Slowest[2].Service != "ptlrpc" || r.Slowest[2].Portal != 12 {
		t.Errorf("slowest: %+v", r.Slowest)
	}
}

// TestResends: a message that comes again on another connection or between other NIDs was sent again: it is
// the same operation, whose latency counts from the first time on. On the same connection it is a copy,
// which counts as an operation only if it gets an answer of its own.
func TestResends(t *testing.T) {
	spec.Covers(t, "DG-2")
	for _, c := range []struct {
		name string
		do   func(p *tape, one, two *capture.Conn)
		want counts
		max  time.Duration
	}{
		{"another connection", func(p *tape, one, two *capture.Conn) {
			p.send(two, near, put(nodeA, nodeB, 1))
			p.now = 2 * time.Second
			p.send(two, far, ack(nodeB, nodeA, 1))
		}, counts{asked: 1, answered: 1, resent: 1}, 2 * time.Second},
		{"another NID", func(p *tape, one, two *capture.Conn) {
			rail := p.dial(second, nodeB, ksock.Control)
			p.send(rail, near, put(second, nodeB, 1))
			p.now = 2 * time.Second
			p.send(rail, far, ack(nodeB, second, 1))
		}, counts{asked: 1, answered: 1, resent: 1}, 2 * time.Second},
		{"both are answered", func(p *tape, one, two *capture.Conn) {
			p.send(two, near, put(nodeA, nodeB, 1))
			p.send(one, far, ack(nodeB, nodeA, 1))
			p.send(two, far, ack(nodeB, nodeA, 1))
		}, counts{asked: 1, answered: 1, resent: 1, repeated: 1}, time.Second},
		{"copy", func(p *tape, one, two *capture.Conn) {
			p.send(one, near, put(nodeA, nodeB, 1))
			p.send(one, far, ack(nodeB, nodeA, 1))
		}, counts{asked: 1, answered: 1, copies: 1}, time.Second},
		{"copy after the answer", func(p *tape, one, two *capture.Conn) {
			p.send(one, far, ack(nodeB, nodeA, 1))
			p.send(one, near, put(nodeA, nodeB, 1))
		}, counts{asked: 1, answered: 1, copies: 1}, time.Second},
		{"one MD for two messages", func(p *tape, one, two *capture.Conn) {
			p.send(one, near, put(nodeA, nodeB, 1))
			p.now = 3 * time.Second
			p.send(one, far, ack(nodeB, nodeA, 1))
			p.send(one, far, ack(nodeB, nodeA, 1))
		}, counts{asked: 2, answered: 2}, 3 * time.Second},
		{"another message of one MD", func(p *tape, one, two *capture.Conn) {
			other := put(nodeA, nodeB, 1)
			other.PayloadLength++
			p.send(one, near, other)
			p.send(one, far, ack(nodeB, nodeA, 1))
		}, counts{asked: 2, answered: 1, unanswered: 1}, time.Second},
	} {
		p := newTape(Config{})
		one, two := p.dial(nodeA, nodeB, ksock.Control), p.dial(nodeA, nodeB, ksock.BulkOut)
		p.send(one, near, put(nodeA, nodeB, 1))
		p.now = time.Second
		c.do(p, one, two)
		if got := p.only(t, PutAck); got.short() != c.want || got.Latency.Max != c.max {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestRequestAgain: a request with the number of an earlier request is a resend. If the earlier one has
// been answered, the resend is also an operation, which waits for another reply.
func TestRequestAgain(t *testing.T) {
	spec.Covers(t, "DG-2")
	p := newTape(Config{Services: []Service{Ptlrpc()}})
	c := p.dial(nodeA, nodeB, ksock.Control)
	p.send(c, near, request(nodeA, nodeB, 28, 3))
	p.now = time.Second
	p.send(c, near, request(nodeA, nodeB, 28, 3))
	p.now = 2 * time.Second
	p.send(c, far, request(nodeB, nodeA, 4, 3))
	if got := p.only(t, RequestReply); got.short() != (counts{asked: 1, answered: 1, resent: 1}) || got.Latency.Max != 2*time.Second {
		t.Errorf("%+v", got)
	}
	p.send(c, near, request(nodeA, nodeB, 28, 3))
	if got := p.only(t, RequestReply).short(); got != (counts{asked: 2, answered: 1, unanswered: 1, resent: 2}) {
		t.Errorf("after the reply: %+v", got)
	}
	p.send(c, near, request(nodeB, nodeA, 28, 3)) // a request of the other node, which has its own sequence of numbers, is no resend
	if got := p.only(t, RequestReply).short(); got != (counts{asked: 3, answered: 1, unanswered: 2, resent: 2}) {
		t.Errorf("of another node: %+v", got)
	}
}

// TestRouted: if a message is captured on both sides of a router, the second one is counted as forwarded,
// and the latency ends when the answer is captured on the requester's side.
func TestRouted(t *testing.T) {
	spec.Covers(t, "DG-3")
	p := newTape(Config{})
	here, there := p.dial(nodeA, routerA, ksock.Control), p.dial(routerB, nodeC, ksock.Control)
	p.send(here, near, get(nodeA, nodeC, 1))
	p.now = time.Second
	p.send(there, near, get(nodeA, nodeC, 1))
	p.now = 2 * time.Second
	p.send(there, far, reply(nodeC, nodeA, 1))
	if got := p.only(t, GetReply).short(); got != (counts{asked: 1, unanswered: 1, forwarded: 2}) {
		t.Errorf("before the answer is here: %+v", got)
	}
	p.now = 3 * time.Second
	p.send(here, far, reply(nodeC, nodeA, 1))
	if got := p.only(t, GetReply); got.short() != (counts{asked: 1, answered: 1, forwarded: 2}) || got.Latency.Max != 3*time.Second {
		t.Errorf("%+v", got)
	}
	p.send(there, far, reply(nodeC, nodeA, 1))
	p.send(here, far, reply(nodeC, nodeA, 1))
	if got := p.only(t, GetReply).short(); got != (counts{asked: 1, answered: 1, forwarded: 3, repeated: 1}) {
		t.Errorf("again: %+v", got)
	}
}

// TestRoutedFarSide: in a capture of the target's side alone the operation is measured there.
func TestRoutedFarSide(t *testing.T) {
	spec.Covers(t, "DG-3")
	p := newTape(Config{})
	there := p.dial(routerB, nodeC, ksock.Control)
	p.send(there, near, get(nodeA, nodeC, 1))
	p.now = time.Second
	p.send(there, far, reply(nodeC, nodeA, 1))
	if got := p.only(t, GetReply); got.short() != (counts{asked: 1, answered: 1}) || got.Latency.Max != time.Second {
		t.Errorf("%+v", got)
	}
}

// TestMidStream: without HELLOs the addresses of the connection say where a message was captured.
func TestMidStream(t *testing.T) {
	spec.Covers(t, "DG-3")
	p := newTape(Config{})
	here, there := p.attempt(nodeA, routerA), p.attempt(routerB, nodeC)
	p.send(here, near, get(nodeA, nodeC, 1))
	p.send(there, near, get(nodeA, nodeC, 1))
	p.send(there, far, reply(nodeC, nodeA, 1))
	p.now = time.Second
	p.send(here, far, reply(nodeC, nodeA, 1))
	if got := p.only(t, GetReply); got.short() != (counts{asked: 1, answered: 1, forwarded: 2}) || got.Latency.Max != time.Second {
		t.Errorf("%+v", got)
	}
	links := p.report().Links
	if len(links) != 2 || links[0].Ends[1].String() != "10.0.0.1@tcp" || links[1].Ends[0].String() != "10.1.0.9" {
		t.Errorf("links %+v", links)
	}
}

// TestFailedTransfer: an operation whose payload could not be moved counts neither as answered nor
// as waiting.
func TestFailedTransfer(t *testing.T) {
	spec.Covers(t, "DG-1")
	p := newTape(Config{})
	c := p.rdma(8)
	exchange := func(from capture.Side, typ kib.MsgType, h wire.Header, request kib.MsgType, status int32) {
		x := &capture.RoCE{HasMsg: true, Msg: kib.Msg{Header: kib.Header{Type: typ, Version: kib.V2}, Status: status}}
		x.Transfer = &capture.Transfer{Request: request, Header: h}
		p.give(capture.Record{Kind: capture.Exchange, Conn: c, From: from, RoCE: x})
	}
	message := func(typ kib.MsgType, h wire.Header) {
		x := &capture.RoCE{HasMsg: true, Msg: kib.Msg{Header: kib.Header{Type: typ, Version: kib.V2}}}
		p.give(capture.Record{Kind: capture.Message, Conn: c, RoCE: x, Header: h})
	}
	message(kib.GetReq, get(nodeA, nodeB, 1))
	message(kib.GetReq, get(nodeA, nodeB, 2))
	message(kib.PutReq, put(nodeA, nodeB, 3))
	p.now = time.Second
	exchange(far, kib.GetDone, get(nodeA, nodeB, 1), kib.GetReq, -5)
	exchange(far, kib.GetDone, get(nodeA, nodeB, 2), kib.GetReq, 50)
	exchange(far, kib.PutNak, put(nodeA, nodeB, 3), kib.PutReq, -2)
	if got := p.only(t, GetReply); got.Failed != 1 || got.short() != (counts{asked: 2, answered: 1}) || got.Latency.Max != time.Second {
		t.Errorf("GETs %+v", got)
	}
	if got := p.only(t, PutAck); got.Failed != 1 || got.Unanswered != 0 {
		t.Errorf("PUTs %+v", got)
	}
}

// TestForgotten: beyond the bounds the operation that has waited longest is forgotten. The report counts
// it, and counts its answer as unmatched.
func TestForgotten(t *testing.T) {
	spec.Covers(t, "DG-8")
	l := usualLimits
	l.open, l.answered, l.kinds, l.pairs = 3, 2, 1, 1
	p := small(l)
	c := p.dial(nodeA, nodeB, ksock.Control)
	for n := range uint64(5) {
		p.now = time.Duration(n)
		p.send(c, near, put(nodeA, nodeB, n))
	}
	p.send(c, far, ack(nodeB, nodeA, 1)) // the answer to a forgotten operation is unmatched
	for n := range uint64(3) {
		p.send(c, far, ack(nodeB, nodeA, 2+n))
	}
	p.send(c, far, ack(nodeB, nodeA, 4)) // a second answer
	p.send(c, far, ack(nodeB, nodeA, 2)) // a second answer to an operation that was answered and then forgotten is unmatched
	r := p.report()
	if got := p.only(t, PutAck).short(); got != (counts{asked: 5, answered: 3, unanswered: 2, repeated: 1}) {
		t.Errorf("%+v", got)
	}
	if r.Forgotten.Operations != 2 || r.Unmatched.Acks != 2 || len(r.Unanswered) != 0 {
		t.Errorf("%+v, %+v, %v", r.Forgotten, r.Unmatched, r.Unanswered)
	}
	if n := p.table.open.Len() + p.table.answered.Len(); n > 6 {
		t.Errorf("%d entries", n)
	}
	p.send(c, near, get(nodeA, nodeB, 9))
	p.send(c, far, get(nodeB, nodeA, 10))
	other := p.report()
	if len(other.Kinds) != 2 || !other.Kinds[1].Other || other.Kinds[1].Asked != 2 || len(other.Pairs) != 2 || !other.Pairs[0].Other {
		t.Errorf("%+v\n%+v", other.Kinds, other.Pairs)
	}
}

// TestOutOfOrder: times that go back give no negative latency.
func TestOutOfOrder(t *testing.T) {
	p := newTape(Config{})
	c := p.dial(nodeA, nodeB, ksock.Control)
	p.now = time.Second
	p.send(c, near, put(nodeA, nodeB, 1))
	p.now = -time.Hour
	p.send(c, far, ack(nodeB, nodeA, 1))
	if got := p.only(t, PutAck); got.Answered != 1 || got.Latency.Max != 0 {
		t.Errorf("%+v", got)
	}
}
