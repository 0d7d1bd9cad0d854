package portals

import (
	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/wire"
)

// The ACKs of PUTs from one MD without OpPtr are equal, and the driver may read hundreds of them at once.
// Equal ACKs that follow each other in a batch (lnd.Batcher) are a run: they are counted, and then taken
// together, with one lock of the MD and one operation for all their events. The run ends before another
// message is looked at, and at the latest at the end of the batch. The driver mostly finds the equal messages
// itself, by comparing bytes, and tells only their number (see Again).

// beginAcks begins a run with an ACK, if more of the batch follows it, and reports whether it did.
func (t *Table) beginAcks(ni *lnet.NI, d *lnd.Delivery, ack *wire.AckCmd) bool {
	if !d.More || d.Data == nil || cookieKind(ack.DstMD.Object) != cookieMD {
		return false
	}
	o := t.arrival(ni, d, EventAck)
	o.asked, o.times = *ni.Source(d), 1
	o.Header.Body = d.Header.Body
	t.intakeFor(d).acks = o
	return true
}

// anotherAck adds a message to the run of ACKs, if there is one and the message is equal to them. Any
// other message ends the run.
func (t *Table) anotherAck(d *lnd.Delivery) bool {
	in, ok := d.Upper.(*intake)
	if !ok || in.acks == nil {
		return false
	}
	same := d.Repeats && d.Data != nil && d.Header.Body == in.acks.Header.Body
	if same {
		in.acks.times++
	}
	if !same || !d.More {
		t.endAcks(in, d)
	}
	return same
}

// Again implements lnet.Upper. The driver has found n more messages that are equal to the latest one. If that
// is an ACK of a run, Again adds them to the run.
func (u *upper) Again(d *lnd.Delivery, n int) bool {
	in, ok := d.Upper.(*intake)
	if !ok || in.acks == nil {
		return false
	}
	in.acks.times += n
	return true
}

// endAcks ends the run of ACKs, if there is one: it delivers the events of those that were awaited, and
// drops the others.
func (t *Table) endAcks(in *intake, d *lnd.Delivery) {
	o := in.acks
	if o == nil {
		return
	}
	in.acks = nil
	md, taken, why := t.takeAcks(o)
	o.ni.CountAcks(d, taken, o.times-taken, why)
	if taken == 0 {
		t.freeOperation(o)
		return
	}
	md.mu.Lock()
	o.md, o.times = md, taken
	md.refs -= int32(taken)
	o.event.Unlinked = t.isOver(md)
	o.event.Err = md.eventError(nil, o.event.Unlinked)
	t.deliver(md, o)
}

// takeAcks finds the MD of a run of ACKs, and begins an operation on the MD for each ACK that the MD
// awaits. It returns the number of these ACKs, and the reason to drop the other ones.
func (t *Table) takeAcks(o *operation) (d *md, taken int, why lnet.DropReason) {
	ack := o.Header.Ack()
	r, why := t.responseTo(ack.DstMD, wire.Put)
	if d = r.md; d == nil {
		return nil, 0, why
	}
	defer d.mu.Unlock()
	if uint64(ack.MLength) > uint64(r.length) {
		return d, 0, lnet.TooLong
	}
	d.describe(&o.event)
	o.event.MatchBits, o.event.MLength = ack.MatchBits, ack.MLength
	for ; taken < o.times; taken++ {
		if d.threshold == 0 || !d.asked.awaits(wire.Put) {
			if d.auto && d.exhausted() && d.refs == int32(taken) { // the MD ends with the ACK before this one
				return d, taken, lnet.StaleHandle
			}
			return d, taken, lnet.InactiveMD
		}
		if !t.answeredBy(d, &o.asked, wire.Put) {
			return d, taken, lnet.NotAsked
		}
		d.begin()
	}
	return d, taken, lnet.NotDropped
}

// announceRun delivers the events of a run of ACKs, except for the last one, which the caller delivers: only
// that one may have Unlinked set.
func (d *md) announceRun(o *operation) {
	last := o.event
	for range o.times - 1 {
		o.event = last
		o.event.Unlinked, o.event.Err = false, nil
		d.announce(&o.event, o.from)
	}
	o.event = last
}
