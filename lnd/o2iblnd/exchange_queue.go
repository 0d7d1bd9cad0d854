package o2iblnd

import (
	"encoding/binary"
	"slices"
	"time"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
)

// send queues t for sending.
func (x *exchange) send(now time.Duration, t *tx) {
	x.begin(t)
	x.list(now, t)
	t.phase = phaseQueued
	if t.kind == kib.Immediate {
		x.credited.push(t)
		return
	}
	t.cookie = x.nextCookie()
	x.starved.push(t)
}

func (x *exchange) nextCookie() uint64 {
	c := x.cookie
	x.cookie++
	return c
}

// flush posts the queued messages that credits allow.
func (x *exchange) flush(now time.Duration, out *exchangeOut) {
	if x.failed != nil {
		return
	}
	for {
		switch t := x.nextSend(); {
		case t != nil:
			x.post(now, t, out)
		case x.turns < turnsAhead && x.writing.len() > 0:
			x.turn(now, out)
		default:
			x.noop(now, out)
			return
		}
	}
}

// nextSend returns the message that is to be posted next, nil if none may be.
func (x *exchange) nextSend() *tx {
	for t := x.starved.peek(); t != nil && (x.reserved > 0 || t.priority && x.reserved > -x.kept()); t = x.starved.peek() {
		x.reserved--
		x.credited.push(x.starved.pop())
	}
	if x.sends >= x.cfg.concurrent {
		return nil
	}
	if t := x.uncredited.pop(); t != nil {
		return t
	}
	if x.blocked() {
		return nil
	}
	x.credits--
	return x.credited.pop()
}

// blocked reports whether no message that needs a credit can be posted: none waits, or the credits
// that are left do not allow the next one.
func (x *exchange) blocked() bool {
	t := x.credited.peek()
	return t == nil || x.credits == 0 || x.credits <= x.kept() && !t.priority
}

// kept returns how many of the credits are kept for priority messages. PUT_REQs and GET_REQs with priority may also
// lower the field reserved to minus that number: maxWaiting has room for their answers.
func (x *exchange) kept() int {
	if x.cfg.depth >= 4 {
		return 1
	}
	return 0
}

// post posts the message of t.
func (x *exchange) post(now time.Duration, t *tx, out *exchangeOut) {
	m := kib.Msg{Cookie: t.cookie, DstCookie: t.dstCookie, Status: t.status}
	t.phase = phaseLast
	switch t.kind {
	case kib.Immediate:
		m.LNet = t.msg.Header
		t.msg.SentAt = now
	case kib.PutReq:
		m.LNet = t.msg.Header
		t.phase = phaseWaiting
	case kib.GetReq:
		m.LNet, m.Desc = t.msg.Header, x.describe(t)
		t.msg.SentAt = now
		t.phase = phaseWaiting
	case kib.PutAck:
		m.Desc = x.describe(t)
		t.phase = phaseWaiting
	case kib.PutDone, kib.GetDone:
		if t.msg != nil {
			t.msg.SentAt = now
		}
	}
	t.posted++
	x.emit(now, t.kind, t.slot, &m, t, out)
}

// describe makes the descriptor of t's memory. The memory was checked before t was queued.
func (x *exchange) describe(t *tx) kib.Desc {
	x.frags = x.frags[:0]
	for _, f := range t.frags {
		x.frags = append(x.frags, kib.Frag{Length: f.Length, Address: f.Address})
	}
	x.desc = slices.Grow(x.desc[:0], 12*len(t.frags))
	d, _ := kib.MakeDesc(x.desc, t.key, x.frags...)
	return d
}

// emit encodes a message with the credits that are owed and posts it. t is nil for a NOOP.
func (x *exchange) emit(now time.Duration, kind kib.MsgType, id uint32, m *kib.Msg, t *tx, out *exchangeOut) {
	give := min(x.owed, 255)
	m.Header = kib.Header{
		Version: x.cfg.version, Type: kind, Credits: uint8(give),
		SrcNID: x.cfg.local, SrcStamp: x.cfg.stamp, DstNID: x.cfg.peer, DstStamp: x.cfg.peerStamp,
	}
	x.owed -= give
	x.peerCredits += give
	x.sends++
	x.sentAt = now
	x.counts.sent++
	wr := workRequest{id: id, op: verbs.Send, signaled: true}
	wr.bytes[0], wr.pieces[0] = len(out.Bytes), len(out.Pieces)
	b, err := m.AppendBinary(out.Bytes)
	if err != nil {
		panic("o2iblnd: " + err.Error()) // the caller has checked the message; see sendable
	}
	if kind == kib.Immediate && t.msg.Payload.Length > 0 {
		b = x.attach(b, wr.bytes[0], t, out)
	}
	if x.summing() {
		kib.SetChecksum(b[wr.bytes[0]:], false, x.cfg.counting)
	}
	out.Bytes = b
	wr.bytes[1], wr.pieces[1] = len(b), len(out.Pieces)
	out.WRs = append(out.WRs, wr)
}

// summing reports whether messages get a checksum. A kernel ends the connection if a message
// has another checksum than the kernel computes. So none is sent before the peer has sent one,
// which shows how the peer computes checksums.
func (x *exchange) summing() bool { return x.cfg.checksum && x.cfg.counting != kib.Unknown }

// attach adds the payload of an IMMEDIATE whose header begins at b[at]: by reference,
// or copied if there are too many pieces, or the checksum covers it.
func (x *exchange) attach(b []byte, at int, t *tx, out *exchangeOut) []byte {
	p := t.msg.Payload
	binary.LittleEndian.PutUint32(b[at+8:], uint32(kib.ImmediateSize+p.Length)) // field ibm_nob of struct kib_msg
	x.counts.bytesOut += uint64(p.Length)
	if !x.summing() {
		begin, src, n := len(out.Pieces), newCursor(p), 0
		if out.Pieces, n = src.take(p.Length, x.cfg.sendGather-1, nil, out.Pieces); n == p.Length {
			return b
		}
		out.Pieces = out.Pieces[:begin]
	}
	return p.AppendTo(b)
}

// noop sends a NOOP if credits are to be given back, or the connection has been silent too long,
// and no other message can do that (o2iblnd-wire §9).
func (x *exchange) noop(now time.Duration, out *exchangeOut) {
	silent := x.cfg.keepalive > 0 && now >= x.sentAt+x.cfg.keepalive
	due := x.owed > 0 && (x.owed >= x.cfg.highWater || out.arrival == arrivalNone && x.scarce(now)) || silent
	if silent {
		x.sentAt = now // set even if no NOOP is posted below, because then other messages are under way, or can be posted, in its place
	}
	if !due || x.uncredited.n > 0 || !x.blocked() || x.noops >= maxNoops || x.sends >= x.cfg.concurrent {
		return
	}
	x.noops++
	x.emit(now, kib.Noop, noopID, &kib.Msg{}, nil, out)
}

// getPause is how long the credits of answered GET_REQs wait for the next GET_DONE (local policy).
const getPause = time.Second

// scarce reports whether owed credits are given back below the high-water mark: the peer has no credit, or
// only the one that is kept for priority messages. If lnet holds the messages for which the peer spent the
// others, the high-water mark may not be reached.
//
// scarce is false as long as something else will soon return credits. PUTs that are being transferred will, so scarce is
// false if their credits and the owed ones together reach the high-water mark, or if the peer still has its last credit.
// While lnet answers GET_REQs in order, the next GET_DONE will return the owed credits; scarce waits for that GET_DONE
// no longer than getPause, because lnet may hold the next GET_REQ. When a message for lnet has arrived, noop calls
// scarce only at the next input, because more credits may be owed then.
func (x *exchange) scarce(now time.Duration) bool {
	if x.owed+x.accepted >= x.cfg.highWater || x.gets.n > 0 && now < x.answerBy {
		return false
	}
	return x.peerCredits == 0 || x.peerCredits <= x.kept() && x.accepted == 0
}

// consume adds n to the owed credits, for n messages that lnet has consumed. These credits do not wait for the next
// GET_DONE, because lnet may hold all GET_REQs.
func (x *exchange) consume(now time.Duration, n int) {
	x.owed += n
	if n > 0 || now >= x.answerBy {
		x.answerBy = 0
	}
}
