package portals

import (
	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/wire"
)

// arriveReply finds the MD that a GET named for its answer (lnet_parse_reply).
// The data goes to the start of the MD.
func (t *Table) arriveReply(ni *lnet.NI, d *lnd.Delivery) (lnd.Verdict, lnet.DropReason) {
	md, why := t.responseMD(d.Header.Reply().DstMD)
	if md == nil {
		return lnd.Accept, why
	}
	rlength := int(d.Header.PayloadLength)
	mlength := min(rlength, md.length)
	if mlength < rlength && md.conf.Options&Truncate == 0 {
		md.mu.Unlock()
		return lnd.Accept, lnet.TooLong
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
	md.begin()
	o := t.arrival(ni, d, EventAck)
	o.event.MatchBits = ack.MatchBits
	o.accept(d, md, 0, int(ack.MLength))
	return lnd.Accept, lnet.NotDropped
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
	if d.threshold == 0 || d.me != nil {
		d.mu.Unlock()
		return nil, lnet.InactiveMD
	}
	return d, lnet.NotDropped
}
