package portals

import (
	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/wire"
)

// arriveReply finds the MD that a GET named for its answer (lnet_parse_reply).
// The data goes to the start of the MD.
//
// LNet takes an ACK or REPLY for any active MD. Here the MD must await one from this
// process: a REPLY would otherwise overwrite memory that is being sent, a second REPLY
// what the first one brought, and a handle, which is no secret, would let any peer
// answer for another. An ACK of more bytes than were sent is no ACK either.
func (t *Table) arriveReply(ni *lnet.NI, d *lnd.Delivery) (lnd.Verdict, lnet.DropReason) {
	md, why := t.responseMD(d.Header.Reply().DstMD)
	if md == nil {
		return lnd.Accept, why
	}
	if !md.asked.awaits(wire.Get) {
		md.mu.Unlock()
		return lnd.Accept, lnet.InactiveMD
	}
	rlength := int(d.Header.PayloadLength)
	mlength := min(rlength, md.length)
	if mlength < rlength && md.options&Truncate == 0 {
		md.mu.Unlock()
		return lnd.Accept, lnet.TooLong
	}
	if !t.answeredBy(md, ni.Source(d), wire.Get) {
		md.mu.Unlock()
		return lnd.Accept, lnet.NotAsked
	}
	md.begin()
	o := t.arrival(ni, d, EventReply)
	o.accept(d, md, 0, mlength)
	d.Sink = lnd.Payload{Segments: o.event.Segments, Length: mlength}
	return lnd.Accept, lnet.NotDropped
}

// arriveAck finds the MD of the PUT that is acknowledged (lnet_parse_ack).
func (t *Table) arriveAck(ni *lnet.NI, d *lnd.Delivery) (lnd.Verdict, lnet.DropReason) {
	ack := d.Header.Ack()
	md, why := t.responseMD(ack.DstMD)
	if md == nil {
		return lnd.Accept, why
	}
	switch {
	case !md.asked.awaits(wire.Put):
		why = lnet.InactiveMD
	case uint64(ack.MLength) > uint64(md.length):
		why = lnet.TooLong
	case !t.answeredBy(md, ni.Source(d), wire.Put):
		why = lnet.NotAsked
	}
	if why != lnet.NotDropped {
		md.mu.Unlock()
		return lnd.Accept, why
	}
	md.begin()
	o := t.arrival(ni, d, EventAck)
	o.event.MatchBits = ack.MatchBits
	o.accept(d, md, 0, int(ack.MLength))
	return lnd.Accept, lnet.NotDropped
}

// unanswered notes that a PUT or GET did not leave, so that nothing may answer
// it, unless something has. The caller holds d.mu.
func (t *Table) unanswered(d *md, o *operation) {
	typ := o.event.MsgType
	if typ == wire.Get || typ == wire.Put && !o.Header.Put().AckMD.IsNone() {
		t.answered(d, &o.asked, typ)
	}
}

// responseMD returns the active MD that an ACK or REPLY is for, locked.
func (t *Table) responseMD(h wire.MDHandle) (*md, lnet.DropReason) {
	if h.Interface != t.node.Incarnation() {
		return nil, lnet.StaleHandle
	}
	d := t.lockMD(MDHandle(h.Object))
	if d == nil {
		return nil, lnet.StaleHandle
	}
	if d.threshold == 0 || d.me != 0 {
		d.mu.Unlock()
		return nil, lnet.InactiveMD
	}
	return d, lnet.NotDropped
}
