package o2iblnd

import (
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// lustre returns the process of Lustre at a NID. o2iblnd tells peers apart by their NIDs alone, so it
// knows no other processes.
func lustre(n nid.NID) nid.ProcessID { return nid.ProcessID{NID: n, PID: nid.LustrePID} }

// arrived handles a message of the peer.
func (x *exchange) arrived(now time.Duration, b []byte, out *exchangeOut) {
	m := &out.Message
	why, err := x.inspect(b, m, out)
	if why == ReasonNone {
		x.counts.received++
		why = x.handle(now, m, out)
	}
	if why != ReasonNone {
		out.arrival = arrivalNone
		x.close(newError(why, lustre(x.cfg.peer), err), out)
	}
}

// arrivedLate handles a message that comes after the exchange has ended. The peer's device may have
// been told that it has arrived, so an IMMEDIATE is for lnet. This side gives no more credits, so the
// peer can send at most as many such messages as it had credits for at the end.
func (x *exchange) arrivedLate(b []byte, out *exchangeOut) {
	if !x.takesLate() {
		return
	}
	why, _ := x.inspect(b, &out.Message, out)
	if why == ReasonNone && out.Message.Type == kib.Immediate {
		x.counts.received++
		out.arrival = arrivalDeliver
	}
}

// takesLate reports whether the peer may be believed after the end of the exchange: it has not broken
// the protocol, lnet has refused none of its messages, and the NI does not shut down.
func (x *exchange) takesLate() bool {
	switch x.failed.Reason {
	case SendTimeout, CreditTimeout, TransportFailed, NotPosted, PeerClosed, PeerRestarted:
		return true
	}
	return false
}

// inspect parses a message and checks what all messages have in common (o2iblnd-wire
// §3.1, §9).
func (x *exchange) inspect(b []byte, m *kib.Msg, out *exchangeOut) (why Reason, err error) {
	if *m, err = kib.ParseMsg(b); err != nil {
		return BadMessage, err
	}
	if err = m.VerifyChecksum(b); err != nil {
		if m.Type != kib.Immediate || len(m.Payload) == 0 {
			return BadChecksum, err
		}
		out.Counted = append(out.Counted, SumNotTrusted)
	}
	if x.cfg.checksum && x.cfg.counting == kib.Unknown {
		x.cfg.counting = m.CountingOf(b)
	}
	if err = m.CheckConn(x.cfg.peer, x.cfg.peerStamp, x.cfg.local, x.cfg.stamp); err != nil {
		return StaleMessage, err
	}
	if m.Version != x.cfg.version {
		return BadMessage, kib.ErrVersion
	}
	if x.credits+int(m.Credits) > x.cfg.depth {
		return CreditsReturned, nil
	}
	x.credits += int(m.Credits)
	if m.Type.NeedsCredit() {
		if x.peerCredits == 0 {
			return CreditsOverdrawn, nil
		}
		x.peerCredits--
	}
	return ReasonNone, nil
}

// handle handles a valid message by its type.
func (x *exchange) handle(now time.Duration, m *kib.Msg, out *exchangeOut) Reason {
	switch m.Type {
	case kib.Noop:
	case kib.Immediate:
		out.arrival = arrivalDeliver
	case kib.PutReq:
		if m.LNet.Type != wire.Put && m.LNet.Type != wire.Reply {
			return BadMessage
		}
		out.arrival = arrivalDeliver
	case kib.GetReq:
		return x.getArrived(m, out)
	case kib.PutAck:
		return x.ackArrived(now, m, out)
	case kib.PutNak:
		return x.nakArrived(m, out)
	case kib.PutDone:
		return x.putDone(m, out)
	case kib.GetDone:
		return x.getDone(m, out)
	default:
		return UnexpectedType
	}
	return ReasonNone
}

// waiting returns the transfer that waits for an answer to its message of this kind and cookie; nil if there is none.
func (x *exchange) waiting(kind kib.MsgType, cookie uint64) *tx {
	for t := x.first; t != nil; t = t.after {
		if t.phase != phaseWaiting || t.kind != kind {
			continue
		}
		if kind == kib.PutAck && t.dstCookie == cookie || kind != kib.PutAck && t.cookie == cookie {
			return t
		}
	}
	return nil
}

// getArrived stores the memory that a GET_REQ names for its answer. Like all functions here that handle a
// kind of message, it returns ReasonNone, or the reason for which the connection ends.
func (x *exchange) getArrived(m *kib.Msg, out *exchangeOut) Reason {
	total := m.Desc.Total()
	if m.LNet.Type != wire.Get {
		return BadMessage
	}
	if total > lnd.MaxPayload {
		return BadDescriptor
	}
	t := newTx()
	t.kind, t.phase, t.cookie = kib.GetDone, phaseReply, m.Cookie
	t.takeFrags(&m.Desc, int(total))
	t.handle, t.asker = m.LNet.Get().ReturnMD, m.LNet.SrcNID
	x.begin(t)
	x.gets.push(t)
	out.arrival, out.Tx = arrivalGet, t
	return ReasonNone
}

// takeFrags copies the fragments of a descriptor, which is only valid as long as its message.
func (t *tx) takeFrags(d *kib.Desc, total int) {
	t.key, t.total, t.frags = d.Key, total, t.frags[:0]
	for i := range d.Len() {
		f := d.Frag(i)
		t.frags = append(t.frags, verbs.Frag{Address: f.Address, Length: f.Length})
	}
}

// ackArrived begins the transfer of a PUT_REQ (o2iblnd-wire §8.2). The result is like that of getArrived.
func (x *exchange) ackArrived(now time.Duration, m *kib.Msg, out *exchangeOut) Reason {
	t := x.waiting(kib.PutReq, m.Cookie)
	if t == nil {
		return UnknownCookie
	}
	total := m.Desc.Total()
	if total > uint64(t.msg.Payload.Length) {
		return BadDescriptor
	}
	x.restore()
	t.takeFrags(&m.Desc, int(total))
	t.kind, t.cookie = kib.PutDone, m.DstCookie
	x.write(now, t, t.msg.Payload, int(total), out)
	return ReasonNone
}

// restore returns the credit that was reserved for an answer.
func (x *exchange) restore() { x.reserved = min(x.reserved+1, x.cfg.depth) }

// nakArrived ends a PUT_REQ that the peer refuses.
func (x *exchange) nakArrived(m *kib.Msg, out *exchangeOut) Reason {
	t := x.waiting(kib.PutReq, m.Cookie)
	if t == nil {
		return UnknownCookie
	}
	x.restore()
	if m.Status < 0 {
		t.err = x.peerStatus(m.Status)
	}
	t.phase = phaseLast
	x.finish(t, out)
	return ReasonNone
}

// putDone ends a PUT_REQ of the peer.
func (x *exchange) putDone(m *kib.Msg, out *exchangeOut) Reason {
	t := x.waiting(kib.PutAck, m.Cookie)
	if t == nil {
		return UnknownCookie
	}
	if m.Status >= 0 && int(m.Status) != t.total {
		return BadStatus
	}
	if m.Status < 0 {
		t.err = x.peerStatus(m.Status)
	}
	x.counts.bytesIn += uint64(max(m.Status, 0))
	x.accepted--
	t.status, t.phase = m.Status, phaseLast
	x.owed++
	x.answerBy = 0
	x.finish(t, out)
	return ReasonNone
}

// getDone ends a GET_REQ of this side.
func (x *exchange) getDone(m *kib.Msg, out *exchangeOut) Reason {
	t := x.waiting(kib.GetReq, m.Cookie)
	if t == nil {
		return UnknownCookie
	}
	if m.Status > int32(t.total) {
		return BadStatus
	}
	x.restore()
	if m.Status < 0 {
		t.err = x.peerStatus(m.Status)
	}
	x.counts.bytesIn += uint64(max(m.Status, 0))
	t.status, t.phase = m.Status, phaseLast
	x.finish(t, out)
	return ReasonNone
}

// peerStatus makes an Error of the status in a peer's message.
func (x *exchange) peerStatus(status int32) *Error {
	e := newError(PeerStatus, lustre(x.cfg.peer), nil)
	e.Errno = errnoOf(status)
	return e
}

// acceptPut answers a PUT_REQ with the memory that t has.
func (x *exchange) acceptPut(now time.Duration, t *tx) {
	t.kind, t.phase, t.dstCookie = kib.PutAck, phaseQueued, x.nextCookie()
	x.accepted++
	x.begin(t)
	x.list(now, t)
	x.uncredited.push(t)
}

// refusePut answers a PUT_REQ whose payload is not transferred. The credit of the PUT_REQ is
// owed when an input says that lnet has consumed the PUT_REQ.
func (x *exchange) refusePut(now time.Duration, t *tx) {
	t.kind, t.phase = kib.PutNak, phaseQueued
	x.begin(t)
	x.list(now, t)
	x.uncredited.push(t)
}
