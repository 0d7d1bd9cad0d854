package portals

import (
	"slices"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// posted is a small PUT, or an ACK, of which the driver has a copy: the part of an [operation] that
// its SEND event needs. It takes a fraction of an operation's memory, since hundreds may be on their
// way.
type posted struct {
	lnet.Inline

	md       *md           // MD of the PUT; nil for an ACK
	target   nid.ProcessID // target of the PUT
	asked    nid.ProcessID // as in operation; for an ACK, the process whose connection brought the PUT
	answerTo uint64        // as in operation
	opPtr    any
	shared   *sharedSend // as in begun
}

var _ lnet.InlineUpper = (*upper)(nil)

func (t *Table) freePosted(s *posted) {
	s.md, s.opPtr, s.shared, s.Answers, s.Lazy, s.Copies = nil, nil, nil, nil, false, 0
	t.posted.Put(s)
}

// mayPost reports whether an operation may be given to lnet as an inline message.
func (b *begun) mayPost(typ wire.MsgType, r *PutRequest) bool {
	return typ == wire.Put && b.length <= lnd.MaxInline && r.Timeout == 0 && b.md.options&Priority == 0
}

// post gives an operation to lnet as an inline message, and reports whether lnet took it.
func (t *Table) post(b *begun, r *PutRequest) bool {
	s := t.newPosted(b, r)
	if t.node.Post(&s.Inline, b.payload(b.md.segments)) {
		return true
	}
	t.freePosted(s)
	return false
}

// newPosted makes an inline message of an operation that has begun.
func (t *Table) newPosted(b *begun, r *PutRequest) *posted {
	s := t.posted.Get().(*posted)
	s.md, s.target, s.asked, s.answerTo, s.shared = b.md, r.Target, b.asked, b.answerTo, b.shared
	s.Pinned, s.opPtr = r.Self.IsValid() && !r.Self.IsAny(), r.OpPtr
	h := &s.Header
	h.SrcNID, h.DestNID, h.DestPID = r.Self, r.Target.NID, r.Target.PID
	t.putHeader(h, b, r)
	return s
}

// postAcks gives the equal ACKs of n PUTs to lnet as an inline message, and reports whether lnet took
// them. The process whose connection brought the PUTs to an NI must be the one that sent them.
func (t *Table) postAcks(by *lnet.NI, asker, to nid.ProcessID, ack wire.AckCmd, n int) bool {
	if asker != to {
		return false
	}
	s := t.posted.Get().(*posted)
	s.asked, s.Pinned, s.Answers, s.Lazy, s.Copies = asker, false, by, true, n-1
	h := &s.Header
	h.SrcNID, h.DestNID, h.DestPID, h.PayloadLength = nid.NID{}, to.NID, to.PID, 0
	h.SetAck(ack)
	if t.node.Post(&s.Inline, lnd.Payload{}) {
		return true
	}
	t.freePosted(s)
	return false
}

// Left implements lnet.InlineUpper.
func (u *upper) Left(first *lnet.Inline) {
	for i := first; i != nil; {
		i = u.table().left(i)
	}
}

// left ends a run of messages from one MD, and returns the message after the run. If another
// goroutine is delivering events of the MD, it delivers those of the run too. If not, the caller
// delivers them, one after another.
func (t *Table) left(i *lnet.Inline) (after *lnet.Inline) {
	s := i.Upper.(*posted)
	d := s.md
	if d == nil {
		after = i.Next()
		t.freePosted(s)
		return after
	}
	if s.shared != nil {
		return t.leftShared(i)
	}
	d.mu.Lock()
	if d.handling || d.options&MayBlock != 0 {
		d.mu.Unlock()
		after = i.Next()
		t.complete(t.operationOf(s), nil)
		return after
	}
	d.handling = true
	d.mu.Unlock()
	o := t.newOperation() // for its event
	for n := 1; ; n++ {
		s.describe(&o.event, t.node.PID())
		after = i.Next()
		more := after != nil && after.Upper.(*posted).follows(d)
		if !more {
			d.mu.Lock()
			d.refs -= int32(n)
			o.event.Unlinked = t.isOver(d)
			o.event.Err = d.eventError(nil, o.event.Unlinked)
			if d.pending.n > 0 { // those events came first, and this one may be the MD's last
				d.pending.push(o)
				t.freePosted(s)
				t.handle(d)
				return after
			}
			d.mu.Unlock()
		}
		d.announce(&o.event, nil)
		t.freePosted(s)
		if !more {
			break
		}
		i = after
		s = i.Upper.(*posted)
	}
	t.freeOperation(o)
	d.mu.Lock()
	t.handle(d)
	return after
}

// follows reports whether s is another PUT from d with an event of its own.
func (s *posted) follows(d *md) bool { return s.md == d && s.shared == nil }

// Lost implements lnet.InlineUpper.
func (u *upper) Lost(i *lnet.Inline, payload []byte) *lnet.Message {
	s := i.Upper.(*posted)
	t, h, pinned := u.table(), s.Header, s.Pinned
	if s.md == nil {
		return &t.lostAck(s).Message
	}
	o := t.operationOf(s)
	o.Header, o.Source = h, nid.NID{}
	if pinned {
		o.Source = h.SrcNID
	}
	o.Payload = lnd.Payload{Segments: []lnd.Segment{slices.Clone(payload)}, Length: len(payload)}
	o.Aborted = &o.md.aborted
	return &o.Message
}

// lostAck makes an operation of an ACK that was posted, the last one of s if s has no copies left.
func (t *Table) lostAck(s *posted) *operation {
	o := t.newOperation()
	o.Header, o.Source, o.Priority = s.Header, nid.NID{}, false
	o.Answers, o.Asker = s.Answers, s.asked
	if s.Copies == 0 {
		t.freePosted(s)
	}
	return o
}

// operationOf makes an operation of a PUT that was posted.
func (t *Table) operationOf(s *posted) *operation {
	o := t.newOperation()
	o.md, o.asked, o.answerTo, o.shared, o.Priority = s.md, s.asked, s.answerTo, s.shared, false
	s.describe(&o.event, t.node.PID())
	t.freePosted(s)
	return o
}

// Inline implements lnet.InlineUpper.
func (u *upper) Inline(m *lnet.Message) *lnet.Inline {
	o := m.Upper.(*operation)
	if o.md == nil || o.Header.Type != wire.Put || o.answerTo != uint64(o.event.MD) && !o.sample.on {
		return nil
	}
	s := u.table().posted.Get().(*posted)
	s.Header, s.md, s.target, s.asked, s.answerTo, s.shared = o.Header, o.md, o.event.Target, o.asked, o.answerTo, o.shared
	s.Pinned, s.opPtr = o.Source.IsValid() && !o.Source.IsAny(), o.event.OpPtr
	return &s.Inline
}

// Posted implements lnet.InlineUpper.
func (u *upper) Posted(m *lnet.Message, i *lnet.Inline, taken bool) {
	if taken {
		u.table().freeOperation(m.Upper.(*operation))
	} else {
		u.table().freePosted(i.Upper.(*posted))
	}
}

// describe fills in the SEND event of s, with the lengths and offsets that were asked for. The
// operation on the MD has not ended, so the MD's description does not change.
func (s *posted) describe(e *Event, pid nid.PID) {
	self := nid.ProcessID{NID: nid.Any(), PID: pid}
	length, put := s.Header.PayloadLength, s.Header.Put()
	*e = Event{
		Kind: EventSend, MsgType: wire.Put,
		Target: s.target, Initiator: self, Source: self, Sender: nid.Any(),
		Portal: int(put.Portal), MatchBits: put.MatchBits, HdrData: put.HdrData, OpPtr: s.opPtr,
		RLength: length, MLength: length, Offset: put.Offset,
	}
	s.md.describe(e)
}
