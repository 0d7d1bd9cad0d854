package portals

import (
	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/wire"
)

// intake receives PUTs whose payload came along with the header: it matches the PUT, copies the payload and
// delivers the event at once, without an operation for each PUT. In a batch (lnd.Batcher) it counts equal
// ACKs, and it also remembers the MD that took the latest PUT. If the next PUT repeats the header of the
// latest one, with the same portal and match bits, it goes to that MD without matching, as long as the portal
// has not changed and the MD takes the PUT. This is correct because the entries that are tried before the
// MD's did not match, or had no MD that takes PUTs, and that does not change.
type intake struct {
	table *Table
	event Event // the event that the handler gets; the handler may change it
	usual Event // what the events of messages for md have in common

	acks *operation // run of equal ACKs that have come; nil: none
	due  acksDue    // ACKs that earlier PUTs of the batch asked for and that are not posted yet

	md      *md // the MD that took the latest message; nil: the next message must be matched
	handle  MDHandle
	portal  *portal
	changes uint64 // value of portal.changes when md was found
}

// intakeFor returns the intake of a batch, or one for a single message.
func (t *Table) intakeFor(d *lnd.Delivery) *intake {
	in, ok := d.Upper.(*intake)
	if !ok {
		in = t.intakes.Get().(*intake)
		if d.More {
			d.Upper = in
		}
	}
	return in
}

// endIntake gives the intake of a single message back to the pool.
func (t *Table) endIntake(d *lnd.Delivery, in *intake) {
	if d.Upper == nil {
		in.event, in.md = Event{}, nil
		t.intakes.Put(in)
	}
}

// EndBatch implements lnet.Upper.
func (u *upper) EndBatch(d *lnd.Delivery) {
	t := u.table()
	in := d.Upper.(*intake)
	t.endAcks(in, d)
	t.payAcks(&in.due)
	d.Upper = nil
	*in = intake{table: t}
	t.intakes.Put(in)
}

// deliversNow reports whether the goroutine that has brought a message for d may deliver the event itself,
// before the driver reads on: no other event of d is being delivered, and the handler need not run in a
// goroutine of its own (MayBlock). The caller holds d.mu.
func (d *md) deliversNow() bool {
	return !d.handling && (d.options&MayBlock == 0 || d.handler == nil)
}

// take notes that md takes a PUT, and stores the fields that its event shares with those of later
// PUTs. It is called with the MD locked.
func (in *intake) take(ni *lnet.NI, d *lnd.Delivery, put *wire.PutCmd, md *md, changes uint64) {
	e := &in.event
	*e = Event{Portal: int(put.Portal), MatchBits: put.MatchBits}
	e.arrived(ni, d, EventPut)
	md.describe(e)
	in.md = nil
	if d.Upper != nil && !md.zombie {
		in.md, in.handle, in.portal, in.changes = md, md.handle, &in.table.portals[put.Portal], changes
		in.usual = *e
	}
}

// again takes a PUT if it goes to the same MD as the PUT before, and reports whether it took it. If
// the header is not that of the PUT before, the intake forgets the MD, whatever becomes of the PUT.
func (in *intake) again(ni *lnet.NI, d *lnd.Delivery, put *wire.PutCmd) bool {
	if !d.Repeats {
		in.md = nil
	}
	md, length := in.md, d.Header.PayloadLength
	if md == nil || d.Data == nil || put.MatchBits != in.usual.MatchBits || int(put.Portal) != in.usual.Portal ||
		in.portal.changes.Load() != in.changes {
		return false
	}
	md.mu.Lock()
	if md.handle != in.handle || md.exhausted() || md.crowded || !md.deliversNow() {
		md.mu.Unlock()
		return false
	}
	offset, mlength, fits := md.room(length, put.Offset)
	if !fits || md.auto && md.exhaustedBy(offset+mlength) {
		md.mu.Unlock()
		return false
	}
	md.begin()
	md.offset = offset + mlength
	if !md.silent() {
		in.event = in.usual
	}
	in.finish(ni, d, put, md, offset, mlength)
	return true
}

// exhaustedBy reports whether the MD is exhausted when it has taken one more message, whose last
// byte lies just before the offset end. The caller holds d.mu.
func (d *md) exhaustedBy(end int) bool {
	return d.threshold == 1 || d.options&HasMaxSize != 0 && end+d.maxSize > d.length
}

// silent reports whether the MD has no events, because nothing takes them. The caller holds d.mu.
func (d *md) silent() bool { return d.handler == nil && d.eq == nil }

// finish copies the payload, delivers the event, and sends the ACK if the PUT asks for one. It is
// entered with the MD locked, and returns with it released.
func (in *intake) finish(ni *lnet.NI, d *lnd.Delivery, put *wire.PutCmd, md *md, offset, mlength int) {
	t := in.table
	lnd.Payload{Segments: md.segments, Offset: offset, Length: mlength}.CopyIn(d.Data)
	d.Sink.Length = mlength
	acks := !put.AckMD.IsNone() && md.options&AckDisable == 0
	md.refs--
	last := t.isOver(md)
	err := md.eventError(nil, last)
	acks = acks && err == nil
	silent := md.silent()
	if silent {
		t.freeEnded(md)
	} else {
		md.handling = true
	}
	md.mu.Unlock()
	ni.Received(d)
	if !silent {
		e := &in.event
		e.RLength, e.HdrData = d.Header.PayloadLength, put.HdrData
		e.Offset, e.MLength = uint32(offset), uint32(mlength)
		e.Unlinked, e.Err = last, err
		md.announce(e, d.ReadLoop)
	}
	if acks {
		t.owe(in, ni, d, wire.AckCmd{DstMD: put.AckMD, MatchBits: put.MatchBits, MLength: uint32(mlength)})
	}
	if !silent {
		md.mu.Lock()
		t.handle(md)
	}
}
