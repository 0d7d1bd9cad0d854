package o2iblnd

import (
	"slices"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
)

// receive receives a message. Messages that arrive before the connection is established, or
// while another goroutine handles one, wait.
func (c *conn) receive(b verbs.Buffer) {
	c.mu.Lock()
	switch {
	case c.state >= connClosing:
		c.mu.Unlock()
		c.ni.pool.Return(b)
	case c.state == connOpening || c.handling:
		if len(c.waiting) > 2*maxPeerCredits+maxNoops {
			c.mu.Unlock()
			c.ni.pool.Return(b)
			c.fail(newError(CreditsOverdrawn, lustre(c.peer.id), nil))
			return
		}
		c.waiting = append(c.waiting, b)
		c.mu.Unlock()
	default:
		c.handling = true
		c.handle(b)
		c.handleWaiting()
	}
}

// handleWaiting handles the messages that wait, and unlocks. c.handling is set.
func (c *conn) handleWaiting() {
	for len(c.waiting) > 0 && c.state == connOpen {
		b := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.handle(b)
	}
	c.handling = false
	if c.state == connOpen {
		c.waiting = nil
		c.unlock()
		return
	}
	c.dropWaiting()
}

// handle steps the exchange with a message and carries out its effects. c.mu is held before
// and after, but not meanwhile.
func (c *conn) handle(b verbs.Buffer) {
	c.step(exchangeIn{kind: exchangeArrived, bytes: b.Bytes})
	var r *rx
	switch c.out.arrival {
	case arrivalGet:
		c.peer.gets.Add(1)
		r = c.newRx(&c.out.Message, c.out.Tx.slot, b)
	case arrivalDeliver:
		r = c.newRx(&c.out.Message, 0, b)
	}
	c.unlock()
	if r == nil {
		c.ni.pool.Return(b)
	} else {
		c.deliver(r)
	}
	c.mu.Lock()
}

// deliver gives lnet the header of a message that arrived.
func (c *conn) deliver(r *rx) {
	if r.kind != kib.Immediate {
		r.giveBack()
	}
	answer, err := c.ni.up.Parse(&r.Delivery)
	switch {
	case err != nil:
		c.peer.fail(newError(Refused, lustre(c.peer.id), err))
		r.end(false)
	case answer == lnd.Hold && c.hold(r):
	default:
		c.take(r)
	}
}

// maxKept bounds the held messages whose payload is copied, so that their credits can be
// returned early. Further held messages keep their credits, which makes the peer wait. The
// bound is a choice of ulnet.
const maxKept = 64

// hold keeps a message until Recv. It returns false if that has come already. A payload is
// copied and its buffer returned; a PUT_REQ has none, and its credit is not owed.
func (c *conn) hold(r *rx) bool {
	if r.buffer.Bytes != nil {
		kept := append(r.kept[:0], r.payload...)
		r.giveBack()
		r.kept, r.payload = kept, kept
	}
	c.mu.Lock()
	if r.recv {
		c.mu.Unlock()
		return false
	}
	r.held = true
	c.held = append(c.held, r)
	if r.kind == kib.Immediate && c.state == connOpen && len(c.held) <= maxKept {
		r.credited = true
		c.step(exchangeIn{kind: exchangeConsumed})
	}
	var over *Error
	if c.abandoned {
		over = c.x.failed
	}
	c.unlock()
	if over != nil {
		c.abandonHeld(over)
	}
	return true
}

// Recv implements lnd.NI.
func (ni *NI) Recv(d *lnd.Delivery) {
	r := d.Driver.(*rx)
	c := r.conn
	c.mu.Lock()
	if !r.held || r.leaving {
		r.recv = true
		c.mu.Unlock()
		return
	}
	r.held = false
	if i := slices.Index(c.held, r); i >= 0 {
		c.held = slices.Delete(c.held, i, i+1)
	}
	c.mu.Unlock()
	c.take(r)
}

// abandonHeld asks lnet to abandon the messages that it holds, because the connection has
// ended.
func (c *conn) abandonHeld(cause *Error) {
	c.mu.Lock()
	list := c.held
	c.held, c.abandoned = nil, true
	for _, r := range list {
		r.leaving, r.lost = true, cause
	}
	c.mu.Unlock()
	for _, r := range list {
		if c.ni.up.Abandon(&r.Delivery) {
			r.end(false)
			continue
		}
		c.mu.Lock()
		r.leaving = false
		came := r.recv
		if came {
			r.held = false
		}
		c.mu.Unlock()
		if came {
			c.take(r)
		}
	}
}

// take goes on with a message whose sink is known.
func (c *conn) take(r *rx) {
	switch {
	case r.lost != nil:
		c.ni.up.Delivered(&r.Delivery, r.lost)
		r.end(false)
	case r.kind == kib.Immediate:
		r.Sink.CopyIn(r.payload)
		r.giveBack()
		c.ni.up.Delivered(&r.Delivery, nil)
		r.end(true)
	case r.kind == kib.PutReq:
		c.takePut(r)
	case r.kind == kib.GetDone:
		if !sameMemory(r.Sink, r.written) {
			lnd.Copy(r.Sink, r.written)
		}
		c.ni.up.Delivered(&r.Delivery, nil)
		r.end(false)
	default:
		c.takeGet(r)
	}
}

// takePut answers a PUT_REQ.
func (c *conn) takePut(r *rx) {
	sink := r.Sink
	sink.Length = min(sink.Length, int(r.Header.PayloadLength))
	t := newTx()
	t.cookie = r.cookie
	var err error
	if sink.Length > 0 {
		if err = c.ni.register(t, sink, verbs.LocalWrite|verbs.RemoteWrite); err == nil && len(t.frags) > kib.MaxFrags {
			c.ni.deregister(t)
			err = syscall.EMSGSIZE
		}
		if err == nil {
			t.rx = r
			c.answerPut(r, t)
			return
		}
		c.ni.counts.count(NoMemory)
		err = newError(NoMemory, lustre(c.peer.id), err)
		t.status = statusNoMemory
	}
	c.mu.Lock()
	if c.state == connOpen {
		c.step(exchangeIn{kind: exchangeNak, tx: t})
	} else {
		t.release()
	}
	c.unlock()
	c.ni.up.Delivered(&r.Delivery, err)
	r.end(true)
}

// answerPut offers the peer the memory of t in a PUT_ACK.
func (c *conn) answerPut(r *rx, t *tx) {
	c.mu.Lock()
	if c.state == connOpen {
		c.step(exchangeIn{kind: exchangeSink, tx: t})
		c.unlock()
		return
	}
	err := c.x.failed
	c.unlock()
	c.ni.deregister(t)
	t.release()
	c.ni.up.Delivered(&r.Delivery, err)
	r.end(false)
}

// takeGet tells lnet of a GET_REQ, which answers it with a REPLY, or has dropped it.
func (c *conn) takeGet(r *rx) {
	dropped := r.Dropped
	c.mu.Lock()
	if c.state == connOpen {
		if t := c.x.getAt(r.slot, r.cookie); t != nil {
			c.step(exchangeIn{kind: exchangeAwaitReply, tx: t})
		}
	}
	c.unlock()
	c.ni.up.Delivered(&r.Delivery, nil)
	if dropped {
		c.mu.Lock()
		if c.state == connOpen {
			if t := c.x.getAt(r.slot, r.cookie); t != nil {
				t.status = statusNoData
				c.step(exchangeIn{kind: exchangeReply, tx: t})
			}
		}
		c.unlock()
	}
	r.end(false)
}
