package portals

import (
	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/wire"
)

// arriveReply finds the MD that a GET named for its answer (lnet_parse_reply).
// The data goes to the start of the MD.
//
// LNet takes an ACK or REPLY for any active MD. Here the MD must await one: a
// REPLY would otherwise overwrite memory that is being sent, and a second
// REPLY what the first one brought. An ACK of more bytes than were sent is no
// ACK either.
func (t *Table) arriveReply(ni *lnet.NI, d *lnd.Delivery) (lnd.Verdict, lnet.DropReason) {
	md, why := t.responseMD(d.Header.Reply().DstMD)
	if md == nil {
		return lnd.Accept, why
	}
	if md.replies == 0 {
		md.mu.Unlock()
		return lnd.Accept, lnet.InactiveMD
	}
	rlength := int(d.Header.PayloadLength)
	mlength := min(rlength, md.length)
	if mlength < rlength && md.options&Truncate == 0 {
		md.mu.Unlock()
		return lnd.Accept, lnet.TooLong
	}
	t.answered(md, wire.Get)
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
	case md.acks == 0:
		md.mu.Unlock()
		return lnd.Accept, lnet.InactiveMD
	case uint64(ack.MLength) > uint64(md.length):
		md.mu.Unlock()
		return lnd.Accept, lnet.TooLong
	}
	t.answered(md, wire.Put)
	md.begin()
	o := t.arrival(ni, d, EventAck)
	o.event.MatchBits = ack.MatchBits
	o.accept(d, md, 0, int(ack.MLength))
	return lnd.Accept, lnet.NotDropped
}

// unanswered notes that a PUT or GET did not leave, so that nothing may answer
// it, unless something has. The caller holds d.mu.
func (t *Table) unanswered(d *md, o *operation) {
	switch o.event.MsgType {
	case wire.Get:
		if d.replies > 0 {
			t.answered(d, wire.Get)
		}
	case wire.Put:
		if d.acks > 0 && !o.Header.Put().AckMD.IsNone() {
			t.answered(d, wire.Put)
		}
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
