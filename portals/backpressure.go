package portals

import (
	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/wire"
)

// MaxPending bounds the events that wait for the handler of an MD that is attached
// to an ME; local policy. When so many messages have come while the handler ran, the
// MD is crowded: further ones are held with their driver, unmatched, as those of a
// lazy portal are, until the handler has seen all events. Only then, so that the
// goroutine that happened to run the handler goes back to its own connection.
//
// A held message waits for the MD that it has found, in its order, and is matched
// when it is that message's turn: then the MD may be gone, and another entry or none
// take it. It occupies a connection and a few hundred bytes here.
const MaxPending = 1024

// crowd has what comes for d wait until resume.
func (d *md) crowd() {
	d.mu.Lock()
	d.crowded, d.releasing = true, true
	d.mu.Unlock()
}

// count counts an event that came while the handler ran. For a bound MD nothing is
// matched, and so nothing is held: its SEND, ACK and REPLY events are bounded by the
// operations that this node has begun. The caller holds d.mu.
func (d *md) count() {
	if d.taken++; d.taken >= MaxPending {
		d.crowded = true
	}
}

// hold keeps a message for waits, or a PUT that nothing matches yet if that is nil.
// The caller holds p.mu.
func (t *Table) hold(p *portal, ni *lnet.NI, d *lnd.Delivery, waits *md) (lnd.Answer, lnet.DropReason) {
	full, group := lnet.LazyFull, lnet.LazyMulticast
	if waits != nil {
		full, group = lnet.HandlerBusy, lnet.HandlerBusy
	}
	switch {
	case d.Group != 0: // the sender of a datagram expects some to be lost
		return lnd.Accept, group
	case ni.Stopping(): // Detach may have passed this portal
		return lnd.Accept, lnet.NIShutdown
	case p.held.n >= MaxHeld:
		return lnd.Accept, full
	}
	kind := EventPut
	if d.Header.Type == wire.Get {
		kind = EventGet
	}
	o := t.arrival(ni, d, kind)
	o.d, o.waits = d, waits
	p.held.push(o)
	return lnd.Hold, lnet.NotDropped
}

// resume lets go all that waits for d: one message for each connection on TCP, whose
// operations exist already. To let go only some until their events are handled would
// make all wait for a peer that does not send the payload. It is entered with
// d.releasing set, which keeps what comes meanwhile behind what waits. It holds no lock.
func (t *Table) resume(d *md) {
	p := &t.portals[d.portal]
	for {
		p.mu.Lock()
		ready := t.takeWaiting(p, d)
		p.mu.Unlock()
		if ready.n == 0 {
			return
		}
		t.release(ready)
	}
}

// takeWaiting decides about what waits for d and returns it, oldest first. If that is
// nothing d is not crowded any more. The caller holds p.mu.
func (t *Table) takeWaiting(p *portal, d *md) (ready operationList) {
	var kept operationList
	for o := p.held.pop(); o != nil; o = p.held.pop() {
		if o.waits != d || !t.rematch(p, o) {
			kept.push(o)
		} else {
			ready.push(o)
		}
	}
	p.held = kept
	if ready.n == 0 {
		d.mu.Lock()
		d.crowded, d.releasing = false, false
		t.freeEnded(d)
		d.mu.Unlock()
	}
	return ready
}

// rematch matches a held message as if it had just come. It returns false if the
// message goes on waiting. The caller holds p.mu.
func (t *Table) rematch(p *portal, o *operation) (decided bool) {
	r := requestOf(o.d)
	r.released, o.waits = o.waits, nil
	d, offset, mlength, out := t.match(p, &r)
	switch out {
	case matched:
		o.accept(o.d, d, offset, mlength)
	case busy:
		o.waits = d
		return false
	case tooLong:
		o.why = lnet.TooLong
	default:
		if p.lazy && r.op == OpPut {
			return false
		}
		o.why = lnet.NoMatch
	}
	return true
}
