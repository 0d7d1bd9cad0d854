package lnet

import (
	"errors"
	"fmt"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/wire"
)

// ErrProtocol marks an error for which a peer loses its connections: the peer has sent
// something that no correct node sends.
var ErrProtocol = errors.New("LNet protocol error")

// Parse implements lnd.Upcalls: it checks an arrived header in the order of
// LNet's lnet_parse and asks the upper layer where the payload goes.
func (ni *NI) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	if err := ni.started(); err != nil {
		return lnd.Accept, err
	}
	d.Owner, d.Dropped = nil, false
	// An assignment of its own: if it were joined with the line above, the new values would be copied first,
	// which stalls the processor
	d.Sink = lnd.Payload{}
	if d.Group != 0 {
		ni.parseGroup(d)
		return lnd.Accept, nil
	}
	if d.Repeats = d.Repeats && ni.repeats(d); d.Repeats {
		return ni.arrive(d), nil
	}
	if b, ok := d.Batch.(*batch); ok {
		ni.forget(b)
	}
	why, closes := ni.inspect(&d.Header)
	if why == RoutingOff && ni.node.forward.on.Load() {
		return ni.forward(d), nil
	}
	if closes {
		ni.drop(d, why)
		return lnd.Accept, fmt.Errorf("%w: %v from %v: %v", ErrProtocol, d.Header.Type, d.From, why)
	}
	if why == NotDropped {
		why = ni.checkSender(d)
	}
	d.Primary = ni.primaryOf(d)
	if d.More || d.Batch != nil {
		ni.judged(d, why == NotDropped)
	}
	if why != NotDropped {
		ni.drop(d, why)
		return lnd.Accept, nil
	}
	return ni.arrive(d), nil
}

// checkSender checks the sender of a message, and notes that it was heard.
func (ni *NI) checkSender(d *lnd.Delivery) (why DropReason) {
	if !ni.isLo() {
		why = ni.meet(d)
	}
	if why == NotDropped {
		why = ni.checkSource(d)
	}
	if why == NotDropped && ni.node.failing.hits(&d.Header.SrcNID) {
		why = SimulatedFailure
	}
	if why == NotDropped {
		ni.noteHeard(d)
	}
	return why
}

// arrive asks the upper layer about a message that is for this node.
func (ni *NI) arrive(d *lnd.Delivery) lnd.Answer {
	if ni.node.unread(d) {
		ni.drop(d, AnswersUnread)
		return lnd.Accept
	}
	// While pending counts the answer, RemoveNI waits until it is sent. Delivered does the same.
	if d.Data != nil && d.Batch == nil && wantsAnswer(&d.Header) {
		ni.pending.Add(1)
		defer ni.ended()
	}
	answer, why := ni.node.upper.Arrive(ni, d)
	if why != NotDropped {
		ni.drop(d, why)
	}
	return answer
}

// inspect checks type, lengths, destination and source of a message. If closes is true, the peer broke the
// protocol and its connections are closed.
func (ni *NI) inspect(h *wire.Header) (why DropReason, closes bool) {
	if err := h.Validate(); err != nil {
		if errors.Is(err, wire.ErrType) {
			return BadType, true
		}
		return BadPayload, true
	}
	switch {
	case h.DestNID == ni.nid || ni.isLo():
	case h.DestNID.Net() == ni.cfg.Net:
		return NotDirect, true
	case ni.node.niByNID(h.DestNID) != nil:
		return WrongNI, true
	default:
		return RoutingOff, false
	}
	if !h.SrcNID.IsValid() || h.SrcNID.IsAny() || !ni.isLo() && (h.SrcNID.IsLo() || ni.node.niByNID(h.SrcNID) != nil) {
		return BadSource, false // an answer to this source would go nowhere, or to this node itself
	}
	return NotDropped, false
}

// meet finds the peer NI at the other end of d's connection, and stores it in d.Cache for the connection's
// next messages.
func (ni *NI) meet(d *lnd.Delivery) DropReason {
	if p, ok := d.Cache.(*peerNI); ok && p.nid == d.From.NID && p.ni == ni && !p.evicted.Load() {
		return NotDropped
	}
	d.Cache = nil
	p, err := ni.node.peers.get(d.From.NID, ni)
	switch {
	case err == nil:
		d.Cache = p
		return NotDropped
	case errors.Is(err, syscall.ESHUTDOWN):
		return NIShutdown
	default:
		return PeerTableFull
	}
}

// drop counts a message that is dropped; its payload is discarded.
func (ni *NI) drop(d *lnd.Delivery, why DropReason) {
	ni.node.drops[why].Add(1)
	ni.traffic.countDropped(d.Header.Type, d.Header.PayloadLength)
	if p, ok := d.Cache.(*peerNI); ok {
		p.traffic.countDropped(d.Header.Type, d.Header.PayloadLength)
	}
	if d.Owner != nil { // an Owner that is nil already is not written, because Abandon may read it at the same time
		d.Owner = nil
	}
	d.Sink, d.Dropped = lnd.Payload{}, true
}

// Abandon implements lnd.Upcalls.
func (ni *NI) Abandon(d *lnd.Delivery) bool {
	if !ni.isLo() && d.Header.DestNID != ni.nid { // the message is to be forwarded
		if !ni.node.forward.abandon(d) {
			return false
		}
	} else if !ni.node.upper.Abandon(ni, d) {
		return false
	}
	ni.drop(d, PeerGone)
	return true
}

// Delivered implements lnd.Upcalls.
func (ni *NI) Delivered(d *lnd.Delivery, err error) {
	if d.Owner == nil {
		return // lnet has dropped the message already, and counted it
	}
	if t, ok := d.Owner.(*transit); ok {
		t.arrived(d, err)
		return
	}
	if wantsAnswer(&d.Header) { // while pending counts the answer, RemoveNI waits until it is sent
		ni.pending.Add(1)
		defer ni.ended()
	}
	if err == nil {
		ni.count(d)
	} else if p, ok := d.Cache.(*peerNI); ok && !errors.Is(err, syscall.ESHUTDOWN) {
		p.cut()
	}
	ni.node.upper.Delivered(ni, d, err)
}

// count counts a message that has arrived, and raises the health of the NI and of the peer NI. A
// datagram to a group raises neither: its source may be forged.
func (ni *NI) count(d *lnd.Delivery) {
	ni.traffic.countReceived(d.Header.Type, d.Sink.Length)
	p, ok := d.Cache.(*peerNI)
	if ok {
		p.traffic.countReceived(d.Header.Type, d.Sink.Length)
	}
	if d.Group != 0 {
		return
	}
	ni.heal()
	if ok {
		p.heal()
	}
}

// wantsAnswer reports whether the upper layer may answer a message.
func wantsAnswer(h *wire.Header) bool {
	return h.Type == wire.Get || h.Type == wire.Put && !h.Put().AckMD.IsNone()
}
