package o2iblnd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// pair is two exchanges and what lies between them: a queue each way that
// loses nothing, as a reliable connection.
type pair struct {
	t    reporter
	now  time.Duration
	ends [2]*end
}

// end is one exchange of a pair, with its memory, and an lnet that the test controls.
type end struct {
	p     *pair
	x     *exchange
	out   exchangeOut
	other *end

	wire      []item   // messages on their way to the other end
	completes []uint32 // IDs of signaled work requests that have reached the other end
	memory    map[uint32][]byte
	nextKey   uint32

	want   int  // number of bytes that lnet takes of each PUT that arrives; negative: all
	cheats bool // this end breaks the rules of credits
	hold   bool
	held   []*rx
	gets   []*rx // GET_REQs that were given to lnet
	sent   map[*lnd.Message]error
	begun  int // number of messages begun
	got    []received
	types  []kib.MsgType // types of the messages that arrived
	give   []uint8       // credits in the messages that arrived
}

type item struct {
	id       uint32
	signaled bool
	op       verbs.Op
	bytes    []byte
	remote   verbs.Frag
	key      uint32
}

type received struct {
	header wire.Header
	data   []byte
	err    error
}

// reporter is what testing.T and rapid.T have in common.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func newPair(t reporter, tweaks ...func(*exchangeConfig)) *pair {
	p := &pair{t: t, now: time.Second}
	a, b := nid.MustParse("10.0.0.1@o2ib"), nid.MustParse("10.0.0.2@o2ib")
	for i := range p.ends {
		cfg := exchangeConfig{
			local: a, peer: b, stamp: 1, peerStamp: 2, version: kib.V2, depth: 8, maxFrags: kib.MaxFrags, highWater: 4,
			concurrent: 8, gather: 2, sendGather: 4, timeout: 50 * time.Second, keepalive: 100 * time.Second, firstCookie: uint64(1000 * (i + 1)),
		}
		if i == 1 {
			cfg.local, cfg.peer, cfg.stamp, cfg.peerStamp = b, a, 2, 1
		}
		for _, tweak := range tweaks {
			tweak(&cfg)
		}
		p.ends[i] = &end{
			p: p, x: newExchange(cfg, p.now), memory: map[uint32][]byte{}, nextKey: uint32(1000 * (i + 1)),
			want: -1, sent: map[*lnd.Message]error{},
		}
	}
	p.ends[0].other, p.ends[1].other = p.ends[1], p.ends[0]
	return p
}

// step steps an end and carries out its effects. If the input is a message that arrives, it returns what is to be done with
// it, the message, and its tx.
func (e *end) step(in exchangeIn) (arrival, kib.Msg, *tx) {
	e.x.Step(e.p.now, in, &e.out)
	if err := e.x.invariants(); err != nil && !e.cheats {
		e.p.t.Fatalf("%v: %v", e.x.cfg.local, err)
	}
	a, m, t := e.out.arrival, e.out.Message, e.out.Tx
	for _, wr := range e.out.WRs {
		it := item{id: wr.id, signaled: wr.signaled, op: wr.op, remote: wr.remote, key: wr.rkey}
		it.bytes = append(it.bytes, e.out.Bytes[wr.bytes[0]:wr.bytes[1]]...)
		for _, s := range e.out.Pieces[wr.pieces[0]:wr.pieces[1]] {
			it.bytes = append(it.bytes, s.Bytes...)
		}
		e.wire = append(e.wire, it)
	}
	done := e.out.Done
	e.out.Reset()
	for t := done.pop(); t != nil; t = done.pop() {
		e.done(t)
	}
	return a, m, t
}

// done ends t as the NI would.
func (e *end) done(t *tx) {
	if t.posted != 0 {
		e.p.t.Fatalf("%v ended with %d work requests posted", t.kind, t.posted)
	}
	switch {
	case t.kind == kib.PutAck:
		e.got = append(e.got, received{t.rx.Header, e.take(t), t.err})
	case t.msg != nil:
		if _, again := e.sent[t.msg]; again {
			e.p.t.Fatalf("%v of %v ended twice", t.kind, t.msg.Header.Type)
		}
		e.sent[t.msg] = t.err
		if t.kind == kib.GetReq && t.err == nil {
			e.got = append(e.got, received{t.msg.Header, e.take(t)[:t.status], nil})
		}
	}
}

// take unregisters the memory of t and returns its bytes.
func (e *end) take(t *tx) []byte {
	var data []byte
	for _, f := range t.frags {
		data = append(data, e.memory[t.key][f.Address:][:f.Length]...)
	}
	delete(e.memory, t.key)
	return data
}

// provide makes memory of n bytes in the given number of fragments, with gaps.
func (e *end) provide(t *tx, n, frags int) {
	e.nextKey++
	t.key, t.total = e.nextKey, n
	e.memory[t.key] = make([]byte, n+8*frags)
	for i, at := 0, 0; i < frags; i++ {
		size := (n - at) / (frags - i)
		t.frags = append(t.frags, verbs.Frag{Address: uint64(at + 8*i), Length: uint32(size)})
		at += size
	}
}

// send sends a PUT of n bytes in the given number of segments, or a GET of n bytes into the given
// number of fragments, and returns its message.
func (e *end) send(typ wire.MsgType, n, segments, frags int, priority bool) *lnd.Message {
	m := &lnd.Message{Priority: priority, Target: lustre(e.other.x.cfg.local)}
	m.Header = wire.Header{SrcNID: e.x.cfg.local, DestNID: e.other.x.cfg.local}
	t := newTx()
	t.msg, t.priority = m, priority
	if typ == wire.Get {
		m.Header.SetGet(wire.GetCmd{ReturnMD: wire.MDHandle{Interface: 7, Object: uint64(len(e.sent) + len(e.wire))}, SinkLength: uint32(n)})
		t.kind = kib.GetReq
		e.provide(t, n, frags)
	} else {
		m.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: uint64(n)})
		m.Header.PayloadLength = uint32(n)
		m.Payload = scattered(n, segments)
		t.kind = kib.Immediate
		if n > kib.MaxImmediate {
			t.kind = kib.PutReq
		}
	}
	e.begun++
	e.step(exchangeIn{kind: exchangeSend, tx: t})
	return m
}

// scattered returns a payload of n bytes that depend on n, in the given number of segments.
func scattered(n, segments int) lnd.Payload {
	b := fill(n)
	p := lnd.Payload{Length: n, Offset: 3}
	p.Segments = append(p.Segments, make([]byte, 3))
	for i := range segments {
		size := len(b) / (segments - i)
		p.Segments = append(p.Segments, b[:size:size])
		b = b[size:]
	}
	return p
}

func fill(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for i := 0; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	return b
}

// deliver hands the other end the first item that e has sent.
func (e *end) deliver() bool {
	if len(e.wire) == 0 {
		return false
	}
	it := e.wire[0]
	e.wire = e.wire[1:]
	if it.op == verbs.Write {
		copy(e.other.memory[it.key][it.remote.Address:][:it.remote.Length], it.bytes)
		if int(it.remote.Length) != len(it.bytes) {
			e.p.t.Fatalf("WRITE of %d bytes to %d", len(it.bytes), it.remote.Length)
		}
	} else {
		e.other.arrive(it.bytes)
	}
	if it.signaled {
		e.completes = append(e.completes, it.id)
	}
	return true
}

func (e *end) complete() bool {
	if len(e.completes) == 0 {
		return false
	}
	id := e.completes[0]
	e.completes = e.completes[1:]
	e.step(exchangeIn{kind: exchangeSent, id: id})
	return true
}

// arrive does what lnet and the NI do with a message.
func (e *end) arrive(b []byte) {
	a, m, t := e.step(exchangeIn{kind: exchangeArrived, bytes: b})
	e.types, e.give = append(e.types, m.Type), append(e.give, m.Credits)
	switch {
	case a == arrivalNone:
	case m.LNet.PayloadLength > lnd.MaxPayload: // lnet refuses a header with such a length
		e.step(exchangeIn{kind: exchangeClose, err: newError(Refused, lustre(e.x.cfg.peer), nil)})
	case a == arrivalGet:
		e.gets = append(e.gets, &rx{slot: t.slot, cookie: t.cookie})
		e.step(exchangeIn{kind: exchangeAwaitReply, tx: t})
	case m.Type == kib.Immediate:
		e.got = append(e.got, received{m.LNet, append([]byte(nil), m.Payload...), nil})
		e.step(exchangeIn{kind: exchangeConsumed, consumed: 1})
	default:
		r := &rx{}
		r.Header, r.cookie = m.LNet, m.Cookie
		if e.held = append(e.held, r); !e.hold {
			e.resume()
		} else {
			e.step(exchangeIn{kind: exchangeConsumed})
		}
	}
}

// resume accepts the PUT_REQ that has been held longest.
func (e *end) resume() bool {
	if len(e.held) == 0 {
		return false
	}
	r := e.held[0]
	e.held = e.held[1:]
	t := newTx()
	t.rx, t.cookie = r, r.cookie
	n := int(r.Header.PayloadLength)
	if e.want >= 0 {
		n = min(n, e.want)
	}
	if n == 0 {
		t.rx = nil
		e.got = append(e.got, received{r.Header, nil, nil})
		e.step(exchangeIn{kind: exchangeNak, tx: t})
		e.step(exchangeIn{kind: exchangeConsumed, consumed: 1})
		return true
	}
	e.provide(t, n, 1+n%5)
	e.step(exchangeIn{kind: exchangeSink, tx: t})
	return true
}

// answer answers the oldest GET_REQ, with n bytes or with an error status. It returns false if there is none.
func (e *end) answer(n int, status int32) bool {
	if len(e.gets) == 0 {
		return false
	}
	t := e.x.getAt(e.gets[0].slot, e.gets[0].cookie)
	e.gets = e.gets[1:]
	if t == nil {
		return true // the exchange has given up this GET_REQ
	}
	t.status = status
	if n >= 0 {
		t.msg = &lnd.Message{Payload: scattered(min(n, t.total), 3)}
		t.msg.Header.SetReply(wire.ReplyCmd{DstMD: t.handle})
	}
	e.step(exchangeIn{kind: exchangeReply, tx: t})
	return true
}

// settle delivers messages of both ends until none is left.
func (p *pair) settle() {
	for again := true; again; {
		again = false
		for _, e := range p.ends {
			again = e.deliver() || e.complete() || again
		}
	}
}

// quiet checks that nothing is under way, and that no credit is lost.
func (p *pair) quiet() error {
	for _, e := range p.ends {
		x := e.x
		if !x.idle() || x.failed != nil {
			return fmt.Errorf("%v: %d under way, %d and %d posted, failed %v", x.cfg.local, x.active, x.sends, x.turns, x.failed)
		}
		if x.credits+e.other.x.owed != x.cfg.depth || x.credits != e.other.x.peerCredits || x.reserved != x.cfg.depth {
			return fmt.Errorf("%v: %d credits, %d of them owed there, which counts %d; %d reserved",
				x.cfg.local, x.credits, e.other.x.owed, e.other.x.peerCredits, x.reserved)
		}
		if len(e.memory) > 0 {
			return fmt.Errorf("%v: memory %d left", x.cfg.local, len(e.memory))
		}
	}
	return nil
}

// wantData checks that the data that arrived is equal to the data that was sent.
func (e *end) wantData(lengths ...int) {
	e.p.t.Helper()
	if len(e.got) != len(lengths) {
		e.p.t.Fatalf("%d arrived, want %d", len(e.got), len(lengths))
	}
	for i, n := range lengths {
		if e.got[i].err != nil || !bytes.Equal(e.got[i].data, fill(n)) {
			e.p.t.Errorf("message %d: %d bytes, want %d, error %v", i, len(e.got[i].data), n, e.got[i].err)
		}
	}
}

// wantClosed checks that an end was closed for this reason.
func (e *end) wantClosed(why Reason) {
	e.p.t.Helper()
	if e.x.failed == nil || e.x.failed.Reason != why {
		e.p.t.Errorf("closed because of %v, want %v", e.x.failed, why)
	}
}
