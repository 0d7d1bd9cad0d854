package portals

import (
	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// upper is the Table, with the methods of lnet.Upper.
type upper Table

func (u *upper) table() *Table { return (*Table)(u) }

// Arrive implements lnet.Upper.
func (u *upper) Arrive(ni *lnet.NI, d *lnd.Delivery) (lnd.Answer, lnet.DropReason) {
	t := u.table()
	if t.anotherAck(d) {
		return lnd.Taken, lnet.NotDropped
	}
	in, _ := d.Upper.(*intake)
	if d.Header.Type == wire.Put && in != nil {
		var put wire.PutCmd
		if put.Parse(&d.Header.Body); in.again(ni, d, &put) {
			return lnd.Taken, lnet.NotDropped
		}
	}
	if in != nil {
		t.payAcks(&in.due)
	}
	switch d.Header.Type {
	case wire.Put:
		return t.arriveRequest(ni, d, d.Header.Put().Portal, EventPut)
	case wire.Get:
		return t.arriveGet(ni, d)
	case wire.Reply:
		return t.arriveReply(ni, d)
	default:
		return t.arriveAck(ni, d)
	}
}

// arrival starts the operation and the event of a message that came in.
func (t *Table) arrival(ni *lnet.NI, d *lnd.Delivery, kind EventKind) *operation {
	o := t.newOperation()
	o.ni, o.from = ni, d.ReadLoop
	o.Asker = d.From
	o.event.arrived(ni, d, kind)
	return o
}

// arrived fills in the fields of an event that describe a message that came in.
func (e *Event) arrived(ni *lnet.NI, d *lnd.Delivery, kind EventKind) {
	h := &d.Header
	e.Kind = kind
	e.Target = nid.ProcessID{NID: h.DestNID, PID: h.DestPID}
	e.Source = nid.ProcessID{NID: h.SrcNID, PID: h.SrcPID}
	e.Initiator = nid.ProcessID{NID: d.Primary, PID: h.SrcPID}
	e.Sender, e.Incarnation = d.From.NID, ni.Incarnation(d)
	e.Group = d.Group
	e.MsgType = h.Type
	e.RLength = h.PayloadLength
	e.ReceivedAt = d.ReceivedAt
}

func (t *Table) arriveGet(ni *lnet.NI, d *lnd.Delivery) (lnd.Answer, lnet.DropReason) {
	get := d.Header.Get()
	return t.arriveRequest(ni, d, get.Portal, EventGet)
}

// arriveRequest finds the MD that takes a PUT or GET.
func (t *Table) arriveRequest(ni *lnet.NI, d *lnd.Delivery, index uint32, kind EventKind) (lnd.Answer, lnet.DropReason) {
	if index >= Portals {
		return lnd.Accept, lnet.BadPortal
	}
	r := requestOf(d)
	p := &t.portals[index]
	p.mu.Lock()
	changes := p.changes.Load()
	var md *md
	var offset, mlength int
	out := noMatch
	if kind == EventGet || !p.usedUpBy(d.From.NID) {
		md, offset, mlength, out = t.match(p, &r)
	}
	if out == busy || out == noMatch && kind == EventPut && p.keeps(r.bits) {
		answer, why := t.hold(p, ni, d, md)
		p.mu.Unlock()
		return answer, why
	}
	now := out == matched && d.Data != nil && kind == EventPut && md.deliversNow()
	var share *share
	if out == matched && !now && kind == EventPut {
		share = p.occupy(d.From.NID)
	}
	p.mu.Unlock()
	switch out {
	case noMatch:
		return lnd.Accept, lnet.NoMatch
	case tooLong:
		return lnd.Accept, lnet.TooLong
	}
	if now {
		in := t.intakeFor(d)
		put := d.Header.Put()
		in.take(ni, d, &put, md, changes)
		in.finish(ni, d, &put, md, offset, mlength)
		t.endIntake(d, in)
		return lnd.Taken, lnet.NotDropped
	}
	o := t.arrival(ni, d, kind)
	o.share = share
	o.accept(d, md, offset, mlength)
	o.begun()
	return lnd.Accept, lnet.NotDropped
}

// requestOf returns a PUT or GET in the form that matching takes.
func requestOf(d *lnd.Delivery) request {
	r := request{id: nid.ProcessID{NID: d.Primary, PID: d.Header.SrcPID}, source: d.Header.SrcNID}
	if d.Header.Type == wire.Put {
		put := d.Header.Put()
		r.op, r.bits, r.length, r.offset = OpPut, put.MatchBits, d.Header.PayloadLength, put.Offset
	} else {
		get := d.Header.Get()
		r.op, r.bits, r.length, r.offset = OpGet, get.MatchBits, get.SinkLength, get.SrcOffset
	}
	return r
}

// accept connects a matched request with its MD and lets the driver receive the payload. It
// is entered with the MD locked and releases it.
func (o *operation) accept(d *lnd.Delivery, md *md, offset, mlength int) {
	o.md = md
	md.describe(&o.event)
	ackDisabled := md.options&AckDisable != 0
	md.mu.Unlock()
	o.event.Offset, o.event.MLength = uint32(offset), uint32(mlength)
	switch d.Header.Type {
	case wire.Get:
		get := d.Header.Get()
		o.event.Portal, o.event.MatchBits = int(get.Portal), get.MatchBits
	case wire.Put:
		put := d.Header.Put()
		o.event.Portal, o.event.MatchBits, o.event.HdrData = int(put.Portal), put.MatchBits, put.HdrData
		o.ack = !put.AckMD.IsNone() && !ackDisabled
		o.Header.Body, o.Header.PayloadLength, o.asked = d.Header.Body, o.event.MLength, o.event.Source // afterEvent makes the ACK from these fields
		d.Sink = lnd.Payload{Segments: o.event.Segments, Offset: offset, Length: mlength}
	}
	d.Owner = o
}

// Delivered implements lnet.Upper.
func (u *upper) Delivered(_ *lnet.NI, d *lnd.Delivery, err error) {
	t := u.table()
	o := d.Owner.(*operation)
	if d.Header.Type == wire.Get && err == nil {
		t.reply(o, d)
		return
	}
	if err == nil {
		t.replied(o.sample)
	}
	share, from := o.share, d.From.NID
	if share != nil && !share.late {
		t.leave(share, from)
		share = nil
	}
	t.complete(o, err)
	t.leave(share, from)
}

// reply sends the data that a GET asked for; the GET event follows when the REPLY has left.
func (t *Table) reply(o *operation, d *lnd.Delivery) {
	get := d.Header.Get()
	o.Header.DestNID, o.Header.DestPID = d.Header.SrcNID, d.Header.SrcPID
	o.Header.SetReply(wire.ReplyCmd{DstMD: get.ReturnMD})
	o.Header.PayloadLength = o.event.MLength
	o.Payload = o.event.Payload()
	o.Aborted, o.Flow = &o.md.aborted, uint64(o.event.MD)
	o.Priority = o.event.Options&Priority != 0
	o.Answers, o.RDMAReply = o.ni, d.RDMAGet
	t.node.Send(&o.Message)
}

// Sent implements lnet.Upper.
func (u *upper) Sent(m *lnet.Message, err error) {
	t := u.table()
	o := m.Upper.(*operation)
	if o.md == nil { // only an ACK has no MD
		t.freeOperation(o)
		return
	}
	if hop, ok := m.NextHop(); ok && err == nil {
		t.noteHop(o, hop)
	}
	t.complete(o, err)
}
