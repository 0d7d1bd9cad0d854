package portals

import (
	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/wire"
)

// MaxPending bounds the events that wait for the handler of an MD that is attached to an ME;
// local policy. When that many messages have come while the handler ran, the MD is crowded:
// the driver holds further messages for it, as it does for a lazy portal, until the handler
// has seen all events. If they were released earlier, the goroutine that happens to run the
// handler would not get back to reading its own connection.
//
// A held message waits in order for the MD that it fits, and has taken nothing of that MD. When its
// turn comes it is matched again, because the MD may be gone by then, and another entry, or none, may
// take the message. Until then it occupies a connection and a few hundred bytes, on TCP also up to 64 KiB that
// were read behind it, and on RDMA its payload of up to 4 KiB.
const MaxPending = 1024

// crowd marks d as crowded: messages that arrive for d are held until resume releases them.
func (d *md) crowd() {
	d.mu.Lock()
	d.crowded, d.releasing = true, true
	d.mu.Unlock()
}

// count counts an event that came while the handler ran. Only messages for MDs with an ME are
// held. No message is matched to a bound MD, whose SEND, ACK and REPLY events are bounded by
// the number of operations that this node has begun. The caller holds d.mu.
func (d *md) count() {
	if d.taken++; d.taken >= MaxPending {
		d.crowded = true
	}
}

// hold keeps a message unmatched. If waits is not nil, the message waits until the handler of that
// MD has caught up. If it is nil, the message is a PUT on a lazy portal, which waits until an entry
// matches. The caller holds p.mu.
func (t *Table) hold(p *portal, ni *lnet.NI, d *lnd.Delivery, waits *md) (lnd.Answer, lnet.DropReason) {
	full, group := lnet.LazyFull, lnet.LazyMulticast
	if waits != nil {
		full, group = lnet.HandlerBusy, lnet.HandlerBusy
	}
	switch {
	case d.Group != 0: // dropped, not held: senders of datagrams expect losses
		return lnd.Accept, group
	case ni.Stopping(): // dropped, not held: Detach may already have ended the messages held at this portal
		return lnd.Accept, lnet.NIShutdown
	case !p.mayHold(d.From.NID):
		return lnd.Accept, full
	}
	kind := EventPut
	if d.Header.Type == wire.Get {
		kind = EventGet
	}
	o := t.arrival(ni, d, kind)
	o.d, o.waits = d, waits
	p.keep(o)
	p.enqueue(o)
	return lnd.Hold, lnet.NotDropped
}

// resume releases all messages that wait for d; on TCP there is at most one for each connection. It
// does not wait until the handler has seen the first ones before it releases the next: a peer that does
// not send its payload would then make all others wait. The caller holds no locks and has set
// d.releasing, so that messages that arrive meanwhile wait behind the held ones.
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

// takeWaiting matches the messages that wait for d and returns those that need not wait
// any more, oldest first. If there is none, d is not crowded any more. If the handler is too far behind
// again, takeWaiting returns none and d stays crowded: the goroutine that runs the handler releases them
// later. The caller holds p.mu.
func (t *Table) takeWaiting(p *portal, d *md) (ready operationList) {
	if d.behindAgain() {
		return ready
	}
	var kept operationList
	for o := p.held.pop(); o != nil; o = p.held.pop() {
		switch {
		case o.waits != d:
			kept.push(o)
		case !p.admit(o): // it waits for a slot now
		case t.rematch(p, o):
			ready.push(o)
		default:
			kept.push(o)
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

// behindAgain reports whether the handler of d, which is releasing messages, is too far behind to be given
// more, and ends the release if so. The caller holds p.mu.
func (d *md) behindAgain() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.handling || d.taken < MaxPending {
		return false
	}
	d.crowded, d.releasing = true, false
	return true
}

// rematch matches a held message as if it had just come. It returns false if the
// message goes on waiting. The caller holds p.mu.
func (t *Table) rematch(p *portal, o *operation) (decided bool) {
	r := requestOf(o.d)
	r.released, o.waits = o.waits, nil
	d, offset, mlength, out := t.match(p, &r)
	switch out {
	case matched:
		p.letGo(o)
		o.accept(o.d, d, offset, mlength)
	case busy:
		o.waits = d
		return false
	case tooLong:
		p.letGo(o)
		o.why = lnet.TooLong
	default:
		if p.lazy && r.op == OpPut {
			return false
		}
		p.letGo(o)
		o.why = lnet.NoMatch
	}
	return true
}
