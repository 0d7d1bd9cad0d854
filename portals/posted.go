package portals

import (
	"slices"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// A small PUT, or an ACK, is posted: the driver copies it, and keeps a record for its SEND event
// (lnd.Record). The record of a PUT has the MD, or the SEND event that the PUT shares with others, in the
// field Upper, and the OpPtr in the field Ptr. The record of an ACK has no Upper, and its NI in Ptr.

var _ lnet.InlineUpper = (*upper)(nil)

// mayPost reports whether an operation may be given to lnet as an inline message.
func (b *begun) mayPost(typ wire.MsgType, r *PutRequest) bool {
	return typ == wire.Put && b.length <= lnd.MaxInline && r.Timeout == 0 && r.LeaveWithin == 0 && b.md.options&Priority == 0
}

// post gives an operation to lnet as an inline message, and reports whether lnet took it.
func (t *Table) post(b *begun, r *PutRequest) bool {
	i := t.inlines.Get().(*lnet.Inline)
	t.fillInline(i, b, r)
	taken := t.node.Post(i, b.payload(b.md.segments))
	i.Ptr = nil
	t.inlines.Put(i)
	return taken
}

// fillInline makes i the message of an operation that has begun.
func (t *Table) fillInline(i *lnet.Inline, b *begun, r *PutRequest) {
	i.Upper, i.Ptr, i.PID = b.md, r.OpPtr, r.Target.PID
	if b.shared != nil {
		i.Upper = b.shared
	}
	i.Pinned, i.Answers, i.Lazy, i.Copies = r.Self.IsOne(), nil, false, 0
	h := &i.Header
	h.SrcNID = r.Self // one by one: one assignment of all three values would copy them first, which would stall the processor
	h.DestNID = r.Target.NID
	h.DestPID = r.Target.PID
	t.putHeader(h, b, r)
}

// postAcks gives the equal ACKs of n PUTs to lnet as an inline message, and reports whether lnet took
// them. The process whose connection brought the PUTs to an NI must be the one that sent them. It must
// have a definite PID: lnet would replace 0 or PIDAny by LustrePID, and the ACKs would go to another process.
func (t *Table) postAcks(by *lnet.NI, asker, to nid.ProcessID, ack wire.AckCmd, n int) bool {
	if asker != to || to.PID == 0 || to.PID == nid.PIDAny {
		return false
	}
	i := t.inlines.Get().(*lnet.Inline)
	i.Upper, i.Ptr, i.PID = nil, by, to.PID
	i.Pinned, i.Answers, i.Lazy, i.Copies = false, by, true, int32(n-1)
	h := &i.Header
	h.SrcNID, h.DestNID, h.DestPID, h.PayloadLength = nid.NID{}, to.NID, to.PID, 0
	h.SetAck(ack)
	taken := t.node.Post(i, lnd.Payload{})
	i.Ptr, i.Answers = nil, nil
	t.inlines.Put(i)
	return taken
}

// Left implements lnet.InlineUpper.
func (u *upper) Left(list []lnd.Record, to nid.NID) {
	t := u.table()
	for len(list) > 0 {
		n := 1
		switch owner := list[0].Upper.(type) {
		case *md:
			n = follow(list, owner)
			t.left(owner, list[:n], to)
		case *sharedSend:
			n = follow(list, owner)
			t.ended(owner, n)
		}
		list = list[n:]
	}
}

// follow returns how many records at the beginning of a list have the same owner: an MD, or a shared SEND event.
func follow[T comparable](list []lnd.Record, owner T) int {
	for n := range list {
		if next, ok := list[n].Upper.(T); !ok || next != owner {
			return n
		}
	}
	return len(list)
}

// left ends messages from one MD. If another goroutine is delivering events of the MD, that goroutine
// delivers the events of these messages too. If not, the caller delivers them, one after another.
func (t *Table) left(d *md, list []lnd.Record, to nid.NID) {
	d.mu.Lock()
	if d.handling || d.options&MayBlock != 0 {
		d.mu.Unlock()
		for n := range list {
			t.complete(t.operationOf(d, &list[n], to), nil)
		}
		return
	}
	d.handling = true
	d.mu.Unlock()
	o := t.newOperation() // it is used for one event after the other
	usual := t.sendEvent(d, to)
	last := len(list) - 1
	for n := range list {
		describe(&o.event, &usual, &list[n])
		if n == last {
			d.mu.Lock()
			d.refs -= int32(len(list))
			o.event.Unlinked = t.isOver(d)
			o.event.Err = d.eventError(nil, o.event.Unlinked)
			if d.pending.n > 0 { // deliver the events that have come meanwhile before this one, which may be the MD's last
				d.pending.push(o)
				t.handle(d)
				return
			}
			d.mu.Unlock()
		}
		d.announce(&o.event, nil)
	}
	t.freeOperation(o)
	d.mu.Lock()
	t.handle(d)
}

// Lost implements lnet.InlineUpper.
func (u *upper) Lost(r *lnd.Record, h *wire.Header, to nid.NID, payload []byte) *lnet.Message {
	t := u.table()
	var o *operation
	switch owner := r.Upper.(type) {
	case nil:
		return &t.lostAck(r, h).Message
	case *sharedSend:
		o = t.operationOf(owner.o.md, r, to)
		o.shared = owner
	case *md:
		o = t.operationOf(owner, r, to)
	}
	o.asked, o.answerTo = nid.ProcessID{NID: to, PID: r.PID}, h.Put().AckMD.Object
	lnet.AnswersAs(&o.asked)
	o.Header, o.Source, o.Priority = *h, nid.NID{}, false
	if r.Pinned {
		o.Source = h.SrcNID
	}
	o.Payload = lnd.Payload{Segments: []lnd.Segment{slices.Clone(payload)}, Length: len(payload)}
	o.Aborted = &o.md.aborted
	return &o.Message
}

// lostAck makes an operation of an ACK that was posted.
func (t *Table) lostAck(r *lnd.Record, h *wire.Header) *operation {
	o := t.newOperation()
	o.Header, o.Source, o.Priority = *h, nid.NID{}, false
	o.Answers, o.Asker = r.Ptr.(*lnet.NI), nid.ProcessID{NID: h.DestNID, PID: h.DestPID}
	return o
}

// operationOf makes an operation with the SEND event of a PUT that was posted.
func (t *Table) operationOf(d *md, r *lnd.Record, to nid.NID) *operation {
	o := t.newOperation()
	o.md = d
	usual := t.sendEvent(d, to)
	describe(&o.event, &usual, r)
	return o
}

// Inline implements lnet.InlineUpper.
func (u *upper) Inline(m *lnet.Message, i *lnet.Inline) bool {
	o := m.Upper.(*operation)
	if o.md == nil || o.Header.Type != wire.Put || o.answerTo != uint64(o.event.MD) && !o.sample.on {
		return false
	}
	i.Header, i.Upper, i.Ptr, i.PID = o.Header, o.md, o.event.OpPtr, o.event.Target.PID
	if o.shared != nil {
		i.Upper = o.shared
	}
	i.Pinned, i.Answers, i.Lazy, i.Copies = o.Source.IsOne(), nil, false, 0
	return true
}

// Posted implements lnet.InlineUpper.
func (u *upper) Posted(m *lnet.Message) { u.table().freeOperation(m.Upper.(*operation)) }

// sendEvent returns what the SEND events of PUTs from an MD to one NID have in common. An operation on the
// MD has not ended, so the MD's description does not change.
func (t *Table) sendEvent(d *md, to nid.NID) Event {
	self := nid.ProcessID{NID: nid.Any(), PID: t.node.PID()}
	e := Event{
		Kind: EventSend, MsgType: wire.Put, Target: nid.ProcessID{NID: to},
		Initiator: self, Source: self, Sender: nid.Any(),
	}
	d.describe(&e)
	return e
}

// describe fills in the SEND event of r, with the lengths and offsets that were asked for.
func describe(e, usual *Event, r *lnd.Record) {
	*e = *usual
	var put wire.PutCmd
	put.Parse(&r.Body)
	e.Target.PID, e.OpPtr = r.PID, r.Ptr
	e.Portal, e.MatchBits, e.HdrData, e.Offset = int(put.Portal), put.MatchBits, put.HdrData, put.Offset
	e.RLength, e.MLength = uint32(r.Length), uint32(r.Length)
}
