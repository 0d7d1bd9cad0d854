package o2iblnd

import (
	"cmp"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
)

// maxWaiting returns how many messages of the connection may wait: those for which the peer has
// credits, as many answers, the answer to a priority message, and NOOPs. That is one more than the number of
// receives that kernels post for a connection (IBLND_RX_MSGS). The messages wait in the receive buffers of the NI,
// which all its peers share. c.mu is held.
func (c *conn) maxWaiting() int {
	// The depth that this side asked for counts until the CONNACK comes, whose depth is not higher.
	depth := cmp.Or(c.depth, c.ask.depth)
	return 2*depth + maxNoops + 1
}

// receive receives messages that the device brought together. Messages that arrive before the
// connection is established, or while another goroutine handles some, wait. More than
// maxWaiting end the connection. If it has ended already, those that fit are handled nevertheless.
func (c *conn) receive(list []verbs.Completion) {
	c.mu.Lock()
	switch {
	case c.state != connOpening && !c.receives():
		c.mu.Unlock()
		c.ni.giveBack(list)
	case c.state == connOpening || c.handling:
		n := min(len(list), max(0, c.maxWaiting()-c.behind-len(c.waiting)))
		c.waiting = append(c.waiting, list[:n]...)
		c.mu.Unlock()
		if n < len(list) {
			c.ni.giveBack(list[n:])
			c.fail(newError(CreditsOverdrawn, lustre(c.peer.id), nil))
		}
	default:
		c.handling = true
		c.handle(list)
		c.handleWaiting()
	}
}

// giveBack returns the buffers of messages that are not handled.
func (ni *NI) giveBack(list []verbs.Completion) {
	for i := range list {
		ni.pool.Return(list[i].Buffer)
	}
}

// handleWaiting handles the messages that wait, and unlocks. c.handling is set.
func (c *conn) handleWaiting() {
	for len(c.waiting) > 0 && c.receives() {
		list := c.waiting
		c.waiting = nil
		c.handle(list)
	}
	c.handling = false
	if c.state == connOpen {
		c.unlock()
		return
	}
	c.dropWaiting()
}

// mostHandled is the most messages for which the exchange is stepped before lnet gets the first of
// them (local policy).
const mostHandled = 16

// handle handles messages, mostHandled at a time. The caller holds c.mu. handle releases it while it
// handles them, and locks it again before it returns.
func (c *conn) handle(list []verbs.Completion) {
	for len(list) > 0 {
		n := min(len(list), mostHandled)
		c.behind = len(list) - n
		c.handleBatch(list[:n])
		list = list[n:]
	}
}

// handleBatch steps the exchange with up to mostHandled messages, gives them to lnet, and returns
// the credits of all that lnet has consumed. For the whole batch it takes the lock twice, and reads
// the clock once. Messages after one that breaks the protocol are dropped; those before it go to lnet.
func (c *conn) handleBatch(list []verbs.Completion) {
	var (
		rxs    [mostHandled]*rx
		unused [mostHandled]verbs.Buffer // buffers of messages that are not for lnet
		n, m   int
	)
	c.tick()
	for i := range list {
		if r := c.arrived(list[i].Buffer); r != nil {
			rxs[n], n = r, n+1
		} else {
			unused[m], m = list[i].Buffer, m+1
		}
	}
	c.unlock()
	for _, b := range unused[:m] {
		c.ni.pool.Return(b)
	}
	n = c.deliverAll(rxs[:n])
	c.mu.Lock()
	c.endBatch(rxs[:n])
}

// arrived steps the exchange with a message, and returns the rx of one that is for lnet. c.mu is
// held.
func (c *conn) arrived(b verbs.Buffer) *rx {
	if !c.receives() {
		return nil
	}
	c.stepAt(c.now, exchangeIn{kind: exchangeArrived, bytes: b.Bytes})
	var r *rx
	switch c.out.arrival {
	case arrivalGet:
		c.peer.gets.Add(1)
		r = c.newRx(&c.out.Message, c.out.Tx.slot, b)
	case arrivalDeliver:
		r = c.newRx(&c.out.Message, 0, b)
	default:
		return nil
	}
	r.batched = r.kind != kib.PutReq // a PUT_REQ ends later, when its data has come
	return r
}

// deliverAll delivers messages. It moves messages that end together with the batch to the front of
// the list, and returns how many these are. Messages behind these may have ended already, so the
// caller does not use them. If lnet refuses a message, deliverAll does not deliver the messages
// after it.
func (c *conn) deliverAll(list []*rx) (batched int) {
	refused := false
	for _, r := range list {
		own := r.batched
		if refused {
			r.end(false)
		} else {
			own, refused = c.deliver(r)
		}
		if own {
			list[batched] = r
			batched++
		}
	}
	return batched
}

// endBatch ends the messages of a batch. c.mu is held.
func (c *conn) endBatch(list []*rx) {
	for _, r := range list {
		c.keep(r)
	}
	if c.state == connOpen && c.consumed.Load() > 0 {
		c.stepAt(c.now, exchangeIn{kind: exchangeConsumed})
	}
}

// deliver gives lnet the header of a message that arrived. batched: the message ends together with
// its batch. refused: lnet refused the message, and with it the peer.
func (c *conn) deliver(r *rx) (batched, refused bool) {
	batched = r.batched // read now: if r is not batched it may end below, and then be used for another message
	if r.kind != kib.Immediate {
		r.giveBack()
	}
	answer, err := c.ni.up.Parse(&r.Delivery)
	switch {
	case err != nil:
		c.peer.fail(newError(Refused, lustre(c.peer.id), err))
		r.end(false)
		return batched, true
	case answer == lnd.Hold && c.hold(r):
		return false, false
	default:
		c.take(r)
		return batched, false
	}
}

// take processes a message for which lnet has set the sink, or which is lost because the connection has
// ended.
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

// takeGet gives lnet a GET_REQ without payload. lnet answers it with a REPLY, unless it drops the
// GET.
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
