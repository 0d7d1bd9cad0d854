package o2iblnd

import (
	"cmp"
	"testing"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// refusal is a message that no correct peer sends.
type refusal struct {
	name  string
	setup func(p *pair) // prepares the pair, in which the end b attacks the end a
	m     kib.Msg
	spoil func(b []byte) []byte
	want  Reason
}

func refusals(t *testing.T) []refusal {
	put := func(n int) (h wire.Header) {
		h.SetPut(wire.PutCmd{AckMD: wire.NoHandle()})
		h.PayloadLength = uint32(n)
		return h
	}
	frags := func(list ...kib.Frag) kib.Desc {
		d, err := kib.MakeDesc(make([]byte, 0, 12*len(list)), 1, list...)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return []refusal{
		{name: "nothing", m: kib.Msg{Header: kib.Header{Type: kib.Noop}}, spoil: func([]byte) []byte { return nil }, want: BadMessage},
		{name: "short", m: kib.Msg{Header: kib.Header{Type: kib.Noop}}, spoil: func(b []byte) []byte { return b[:47] }, want: BadMessage},
		{name: "magic", m: kib.Msg{Header: kib.Header{Type: kib.Noop}}, spoil: func(b []byte) []byte { b[0]++; return b }, want: BadMessage},
		{name: "unknown version", m: kib.Msg{Header: kib.Header{Type: kib.Noop, Version: 0x13}}, want: BadMessage},
		{name: "version of another connection", m: kib.Msg{Header: kib.Header{Type: kib.Noop, Version: kib.V1}}, want: BadMessage},
		{name: "unknown type", m: kib.Msg{Header: kib.Header{Type: kib.Noop}}, spoil: func(b []byte) []byte { b[6] = 0xD8; return b }, want: BadMessage},
		{name: "claims more than there is", m: kib.Msg{Header: kib.Header{Type: kib.Noop}}, spoil: func(b []byte) []byte { b[8]++; return b }, want: BadMessage},
		{name: "claims less than its type", m: kib.Msg{Header: kib.Header{Type: kib.PutNak}}, spoil: func(b []byte) []byte { b[8] = 48; return b }, want: BadMessage},
		{name: "payload cut", m: kib.Msg{Header: kib.Header{Type: kib.Immediate}, LNet: put(10)}, want: BadMessage},
		{name: "checksum", m: kib.Msg{Header: kib.Header{Type: kib.Noop, Checksum: 7}}, want: BadChecksum},
		{name: "source NID", m: kib.Msg{Header: kib.Header{Type: kib.Noop, SrcNID: nid.MustParse("10.9.9.9@o2ib")}}, want: StaleMessage},
		{name: "wildcard", m: kib.Msg{Header: kib.Header{Type: kib.Noop, SrcNID: nid.Any()}}, want: BadMessage},
		{name: "destination NID", m: kib.Msg{Header: kib.Header{Type: kib.Noop, DstNID: nid.MustParse("10.9.9.9@o2ib")}}, want: StaleMessage},
		{name: "source stamp", m: kib.Msg{Header: kib.Header{Type: kib.Noop, SrcStamp: 99}}, want: StaleMessage},
		{name: "destination stamp", m: kib.Msg{Header: kib.Header{Type: kib.Noop, DstStamp: 99}}, want: StaleMessage},
		{name: "too many credits back", m: kib.Msg{Header: kib.Header{Type: kib.Noop, Credits: 1}}, want: CreditsReturned},
		{name: "200 credits", m: kib.Msg{Header: kib.Header{Type: kib.Noop, Credits: 200}}, want: CreditsReturned},
		{name: "no credit left", setup: func(p *pair) { p.ends[0].x.peerCredits = 0; p.ends[0].x.owed = 0 }, m: kib.Msg{Header: kib.Header{Type: kib.Immediate}, LNet: put(0)}, want: CreditsOverdrawn},
		{name: "CONNREQ", m: kib.Msg{Header: kib.Header{Type: kib.ConnReq}}, want: UnexpectedType},
		{name: "CONNACK", m: kib.Msg{Header: kib.Header{Type: kib.ConnAck}}, want: UnexpectedType},
		{name: "PUT_ACK for nothing", m: kib.Msg{Header: kib.Header{Type: kib.PutAck}, Cookie: 5, Desc: frags(kib.Frag{Length: 1})}, want: UnknownCookie},
		{name: "PUT_NAK for nothing", m: kib.Msg{Header: kib.Header{Type: kib.PutNak}, Cookie: 5}, want: UnknownCookie},
		{name: "PUT_DONE for nothing", m: kib.Msg{Header: kib.Header{Type: kib.PutDone}, Cookie: 5}, want: UnknownCookie},
		{name: "GET_DONE for nothing", m: kib.Msg{Header: kib.Header{Type: kib.GetDone}, Cookie: 5}, want: UnknownCookie},
		{name: "GET_DONE for a PUT_REQ", setup: startPut, m: kib.Msg{Header: kib.Header{Type: kib.GetDone}, Cookie: 1000}, want: UnknownCookie},
		{name: "PUT_DONE for a PUT_REQ", setup: startPut, m: kib.Msg{Header: kib.Header{Type: kib.PutDone}, Cookie: 1000}, want: UnknownCookie},
		{name: "PUT_ACK for more than there is", setup: startPut, m: kib.Msg{Header: kib.Header{Type: kib.PutAck}, Cookie: 1000, Desc: frags(kib.Frag{Length: 4000}, kib.Frag{Length: 1001})}, want: BadDescriptor},
		{name: "PUT_ACK whose sum overflows", setup: startPut, m: kib.Msg{Header: kib.Header{Type: kib.PutAck}, Cookie: 1000, Desc: frags(kib.Frag{Length: 1<<32 - 1}, kib.Frag{Length: 5001})}, want: BadDescriptor},
		{name: "PUT_ACK without fragments", setup: startPut, m: kib.Msg{Header: kib.Header{Type: kib.PutAck}, Cookie: 1000, Desc: frags(kib.Frag{})}, spoil: func(b []byte) []byte { b[68] = 0; return b }, want: BadMessage},
		{name: "258 fragments", m: kib.Msg{Header: kib.Header{Type: kib.GetReq}, LNet: getHeader(), Desc: frags(kib.Frag{})}, spoil: func(b []byte) []byte { b[132], b[133] = 2, 1; return b }, want: BadMessage},
		{name: "fragments cut", m: kib.Msg{Header: kib.Header{Type: kib.GetReq}, LNet: getHeader(), Desc: frags(kib.Frag{})}, spoil: func(b []byte) []byte { b[132] = 2; return b }, want: BadMessage},
		{name: "GET_REQ for more than 1 MiB", m: kib.Msg{Header: kib.Header{Type: kib.GetReq}, LNet: getHeader(), Desc: frags(kib.Frag{Length: 1 << 20}, kib.Frag{Length: 1})}, want: BadDescriptor},
		{name: "GET_REQ without a GET", m: kib.Msg{Header: kib.Header{Type: kib.GetReq}, LNet: put(0), Desc: frags(kib.Frag{Length: 1})}, want: BadMessage},
		{name: "PUT_REQ without a PUT", m: kib.Msg{Header: kib.Header{Type: kib.PutReq}, LNet: getHeader()}, want: BadMessage},
		{name: "GET_DONE of more than was asked for", setup: startGet, m: kib.Msg{Header: kib.Header{Type: kib.GetDone}, Cookie: 1000, Status: 5001}, want: BadStatus},
		{name: "PUT_DONE of less than was asked for", setup: startSink, m: kib.Msg{Header: kib.Header{Type: kib.PutDone}, Cookie: 1000, Status: 4999}, want: BadStatus},
	}
}

// TestRefuse: each kind of message that no correct peer sends ends the connection, with a reason
// of its own (o2iblnd-wire §3.1, §5, §8.5, §9).
func TestRefuse(t *testing.T) {
	for _, tt := range refusals(t) {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t)
			a, b := p.ends[0], p.ends[1]
			if tt.setup != nil {
				tt.setup(p)
			}
			x := b.x.cfg
			h := &tt.m.Header
			h.Version, h.SrcNID, h.DstNID = cmp.Or(h.Version, x.version), cmp.Or(h.SrcNID, x.local), cmp.Or(h.DstNID, x.peer)
			h.SrcStamp, h.DstStamp = cmp.Or(h.SrcStamp, x.stamp), cmp.Or(h.DstStamp, x.peerStamp)
			bytes, err := tt.m.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.spoil != nil {
				bytes = tt.spoil(bytes)
			}
			arrived, _, _ := a.step(exchangeIn{kind: exchangeArrived, bytes: bytes})
			a.wantClosed(tt.want)
			if arrived != arrivalNone {
				t.Error("lnet is told of it")
			}
			if a.x.Step(p.now, exchangeIn{kind: exchangeSend, tx: newTx()}, &a.out); !a.out.refused {
				t.Error("takes messages although it is closed")
			}
		})
	}
}

// These functions start a transfer with cookie 1000 at the end that is attacked, and do not
// finish it.
func startPut(p *pair) { p.ends[0].send(wire.Put, 5000, 1, 1, false) }

func startGet(p *pair) { p.ends[0].send(wire.Get, 5000, 0, 1, false) }

func startSink(p *pair) {
	p.ends[1].send(wire.Put, 5000, 1, 1, false)
	p.ends[1].deliver()
}

func getHeader() (h wire.Header) {
	h.SetGet(wire.GetCmd{SinkLength: 5000})
	return h
}

// TestRepeatedDone: a PUT_DONE or PUT_NAK ends its transfer. When it arrives a second time, the
// connection ends.
func TestRepeatedDone(t *testing.T) {
	for _, n := range []int{5000, 0} {
		p := newPair(t)
		a, b := p.ends[0], p.ends[1]
		b.want = n
		a.send(wire.Put, 5000, 1, 1, false)
		var last []byte
		victim := b
		for again := true; again; {
			again = false
			for _, e := range p.ends {
				if len(e.wire) > 0 && (e == a) == (n > 0) && e.wire[0].op == 0 {
					last = e.wire[0].bytes
				}
				again = e.deliver() || e.complete() || again
			}
		}
		if n == 0 {
			victim = a // the attacked end is the receiver of the PUT_NAK
		}
		last[7] = 0 // the first message has given these credits back, so the repetition must not
		victim.step(exchangeIn{kind: exchangeArrived, bytes: last})
		victim.wantClosed(UnknownCookie)
	}
}

// TestOverdrawn: a peer that sends one message more than it has credits for is
// closed, whatever lnet holds.
func TestOverdrawn(t *testing.T) {
	p := newPair(t)
	a, b := p.ends[0], p.ends[1]
	b.hold = true
	a.x.credits, a.x.reserved, a.cheats = 100, 100, true
	for range 9 {
		a.send(wire.Put, 5000, 1, 1, true)
	}
	for b.x.failed == nil && (a.deliver() || a.complete()) {
	}
	b.wantClosed(CreditsOverdrawn)
	if len(b.held) != 8 {
		t.Errorf("%d held", len(b.held))
	}
}

// TestSumNotTrusted: an IMMEDIATE with payload whose checksum is wrong is delivered
// and counted, because kernels compute some of these checksums wrongly (o2iblnd-wire §11).
func TestSumNotTrusted(t *testing.T) {
	p := newPair(t)
	a, b := p.ends[0], p.ends[1]
	m := kib.Msg{Header: kib.Header{
		Version: kib.V2, Type: kib.Immediate, Checksum: 7, SrcNID: a.x.cfg.local, SrcStamp: 1, DstNID: b.x.cfg.local, DstStamp: 2,
	}, Payload: []byte("payload")}
	m.LNet.SetPut(wire.PutCmd{AckMD: wire.NoHandle()})
	m.LNet.PayloadLength = 7
	bytes, err := m.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	b.x.Step(p.now, exchangeIn{kind: exchangeArrived, bytes: bytes}, &b.out)
	if b.x.failed != nil || b.out.arrival != arrivalDeliver || len(b.out.Counted) != 1 || b.out.Counted[0] != SumNotTrusted {
		t.Errorf("failed %v, arrival %v, counted %v", b.x.failed, b.out.arrival, b.out.Counted)
	}
}

// TestTooManyFrags: a transfer that takes more WRITEs than the peer allows is
// given up on both sides; the connection goes on (o2iblnd-wire §6, §8.4).
func TestTooManyFrags(t *testing.T) {
	p := newPair(t, func(c *exchangeConfig) { c.maxFrags, c.gather = 4, 1 })
	a, b := p.ends[0], p.ends[1]
	m := a.send(wire.Put, 10000, 20, 1, false)
	p.settle()
	if e, _ := a.sent[m].(*Error); e == nil || e.Reason != TooManyFrags {
		t.Errorf("ended with %v", a.sent[m])
	}
	if e, _ := b.got[0].err.(*Error); e == nil || e.Reason != PeerStatus {
		t.Errorf("the sink ended with %v", b.got[0].err)
	}
	if err := p.quiet(); err != nil {
		t.Error(err)
	}
}
