package portals

import (
	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// complete ends an operation on its MD: it drops the operation's reference and delivers its
// event. If an event of this MD is already being delivered, complete only queues the event, and the
// goroutine that delivers takes it from there. That may be another goroutine, or this one, if the
// handler of the event has called complete.
func (t *Table) complete(o *operation, err error) {
	if o.shared != nil {
		t.endShared(o, err)
		return
	}
	d := o.md
	d.mu.Lock()
	d.refs--
	if err != nil && o.event.Kind == EventSend {
		t.unanswered(d, o)
	}
	o.event.Unlinked = t.isOver(d)
	o.event.Err = d.eventError(err, o.event.Unlinked)
	o.ack = o.ack && o.event.Err == nil
	t.deliver(d, o)
}

// isOver ends the MD if nothing refers to it any more, and reports whether it did: the event that
// is about to be delivered is the MD's last then. The caller holds d.mu.
func (t *Table) isOver(d *md) bool {
	if d.refs > 0 || d.last || !d.zombie && !(d.auto && d.exhausted()) {
		return false
	}
	t.endCalls(d)
	d.die()
	d.last = true
	return true
}

// announce gives an event to the handler and the queue of the MD. While it runs, no other goroutine
// delivers events of the MD. The handler may change the event.
func (d *md) announce(e *Event, from lnd.ReadLoop) {
	unlinked := e.Unlinked
	if d.handler != nil {
		d.handler(e)
	}
	if d.eq != nil {
		e.Unlinked = unlinked
		d.eq.push(e, from)
	}
}

// deliver hands o's event to the user. It is entered with d.mu held and
// returns with it released.
func (t *Table) deliver(d *md, o *operation) {
	d.pending.push(o)
	switch {
	case d.handling:
		d.count()
		d.mu.Unlock()
		return
	case d.options&MayBlock != 0 && d.handler != nil:
		d.handling = true
		d.mu.Unlock()
		t.node.Clock().AfterFunc(0, func() {
			d.mu.Lock()
			t.handle(d)
		})
		return
	}
	d.handling = true
	t.handle(d)
}

// handle hands over the events of an MD until there is none. It is entered with
// d.mu held and d.handling set, and returns with it released.
func (t *Table) handle(d *md) {
	for o := d.pending.pop(); o != nil; o = d.pending.pop() {
		d.mu.Unlock()
		if o.times > 1 {
			d.announceRun(o)
		}
		d.announce(&o.event, o.from)
		t.afterEvent(o)
		d.mu.Lock()
	}
	d.handling, d.taken = false, 0
	if d.crowded && !d.releasing {
		d.releasing = true
		d.mu.Unlock()
		t.resume(d)
		return
	}
	t.freeEnded(d)
	d.mu.Unlock()
}

// freeEnded frees an MD whose last event has been delivered and that is not in use any
// more. The caller holds d.mu.
func (t *Table) freeEnded(d *md) {
	if d.last && d.refs == 0 && !d.handling && !d.releasing {
		t.freeMD(d)
	}
}

// afterEvent sends the ACK of a PUT that asked for one, after its event (LNet lib-msg.c
// lnet_complete_msg_locked). The ACK means that the data is in the MD and its event was
// delivered, nothing more.
func (t *Table) afterEvent(o *operation) {
	if !o.ack {
		t.freeOperation(o)
		return
	}
	put, source := o.Header.Put(), o.asked
	ack := wire.AckCmd{DstMD: put.AckMD, MatchBits: put.MatchBits, MLength: o.Header.PayloadLength}
	if t.postAcks(o.ni, o.Asker, source, ack, 1) {
		t.freeOperation(o)
		return
	}
	t.acknowledge(o, source, ack)
}

// acknowledge makes o the ACK of a PUT, and sends it.
func (t *Table) acknowledge(o *operation, to nid.ProcessID, ack wire.AckCmd) {
	o.Header.DestNID, o.Header.DestPID = to.NID, to.PID
	o.Header.SetAck(ack)
	o.Header.PayloadLength = 0
	o.Priority = false
	o.md, o.ack = nil, false
	o.Answers = o.ni
	t.node.Send(&o.Message)
}
