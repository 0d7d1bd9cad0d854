package portals

import (
	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// arriveReply finds the MD that a GET named for its answer (lnet_parse_reply).
// The data goes to the start of the MD, or to the part of it that a call names.
// LNet takes an ACK or REPLY for any active MD. Here the MD must await an answer from
// the sender. Otherwise a REPLY could overwrite memory that is being sent, a second REPLY
// could overwrite the data of the first, and any peer could answer for another, because a
// handle is no secret. An ACK of more bytes than were sent is dropped, too.
func (t *Table) arriveReply(ni *lnet.NI, d *lnd.Delivery) (lnd.Answer, lnet.DropReason) {
	r, why := t.responseTo(d.Header.Reply().DstMD, wire.Get)
	if r.md == nil {
		return lnd.Accept, why
	}
	rlength := int(d.Header.PayloadLength)
	mlength := min(rlength, r.length)
	if mlength < rlength && r.md.options&Truncate == 0 {
		r.md.mu.Unlock()
		return lnd.Accept, lnet.TooLong
	}
	if !t.take(&r, ni.Source(d)) {
		r.md.mu.Unlock()
		return lnd.Accept, lnet.NotAsked
	}
	r.md.begin()
	o := t.arrival(ni, d, EventReply)
	o.event.OpPtr, o.sample = r.ptr, r.sample
	o.accept(d, r.md, r.offset, mlength)
	d.Sink = lnd.Payload{Segments: o.event.Segments, Offset: r.offset, Length: mlength}
	return lnd.Accept, lnet.NotDropped
}

// arriveAck finds the MD of the PUT that is acknowledged (lnet_parse_ack).
func (t *Table) arriveAck(ni *lnet.NI, d *lnd.Delivery) (lnd.Answer, lnet.DropReason) {
	ack := d.Header.Ack()
	if t.beginAcks(ni, d, &ack) {
		return lnd.Taken, lnet.NotDropped
	}
	r, why := t.responseTo(ack.DstMD, wire.Put)
	if r.md == nil {
		return lnd.Accept, why
	}
	if uint64(ack.MLength) > uint64(r.length) {
		why = lnet.TooLong
	} else if !t.take(&r, ni.Source(d)) {
		why = lnet.NotAsked
	}
	if why != lnet.NotDropped {
		r.md.mu.Unlock()
		return lnd.Accept, why
	}
	r.md.begin()
	t.acked(r.sample, d.ReceivedAt)
	o := t.arrival(ni, d, EventAck)
	o.event.MatchBits, o.event.OpPtr = ack.MatchBits, r.ptr
	o.accept(d, r.md, 0, int(ack.MLength))
	return lnd.Accept, lnet.NotDropped
}

// unanswered stops waiting for the answer to a PUT or GET that could not be sent. It has no effect
// if an answer has arrived already. The caller holds d.mu.
func (t *Table) unanswered(d *md, o *operation) {
	typ := o.event.MsgType
	if typ == wire.Put && o.Header.Put().AckMD.IsNone() {
		return
	}
	if cookieKind(o.answerTo) != cookieCall {
		t.answered(d, &o.asked, &o.asked.NID, typ)
		return
	}
	if c := t.calls.at(cookieSlot(o.answerTo)); c.is(o.answerTo, d) {
		t.end(d, c)
		d.settle()
	}
}

// response says which MD an ACK or REPLY is for, and which call if it names one.
type response struct {
	md   *md
	call *call
	typ  wire.MsgType // type of the message that the response answers
	part
	ptr    any
	sample sample // timing of the operation that the method take has ended
}

// responseTo finds the MD, and the call if there is one, by the handle in an ACK or REPLY. It
// returns them with the MD locked; or no MD, and the reason to drop the message.
func (t *Table) responseTo(h wire.MDHandle, typ wire.MsgType) (r response, why lnet.DropReason) {
	if h.Interface != t.node.Incarnation() {
		return r, lnet.StaleHandle
	}
	if cookieKind(h.Object) == cookieCall {
		r.call, r.md = t.lockCall(h.Object)
	} else {
		r.md = t.lockMD(MDHandle(h.Object))
	}
	if r.md == nil {
		return r, lnet.StaleHandle
	}
	d, c := r.md, r.call
	if d.threshold == 0 || d.me != 0 || c == nil && !d.asked.awaits(typ) || c != nil && c.typ != typ {
		d.mu.Unlock()
		r.md = nil
		return r, lnet.InactiveMD
	}
	r.typ, r.length = typ, d.length
	if c != nil {
		r.part, r.ptr = part{c.offset, c.length}, c.ptr
	}
	return r, lnet.NotDropped
}

// take reports whether process id was asked for an answer. If so, its answer is no longer awaited.
// The MD is locked.
func (t *Table) take(r *response, id *nid.ProcessID) bool {
	if r.call == nil {
		return t.answeredBy(r.md, id, r.typ)
	}
	if !t.isAsked(r.call, id) {
		return false
	}
	r.sample = r.call.sample
	t.end(r.md, r.call)
	r.md.settle()
	return true
}
