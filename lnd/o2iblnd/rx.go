package o2iblnd

import (
	"sync"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
)

// rx is a message of the peer on its way to lnet (struct kib_rx).
type rx struct {
	lnd.Delivery
	conn    *conn
	kind    kib.MsgType // IMMEDIATE, PUT_REQ or GET_REQ, or GET_DONE: a REPLY without a message of its own on the wire
	cookie  uint64
	slot    uint32       // for a GET_REQ: slot of its tx
	payload []byte       // for an IMMEDIATE: payload, in buffer or in kept
	buffer  verbs.Buffer // receive buffer to return; without bytes if there is none
	kept    []byte       // memory for the payload of a held message
	written lnd.Payload  // for a GET_DONE: memory to which the peer has written
	pieces  [][]byte     // list of the pieces of written, kept for later messages
	lost    *Error       // why the connection ended while the message was held

	held     bool // lnet has answered Hold, and Recv has not come; guarded by conn.mu, like all below
	recv     bool // Recv was called before Parse returned
	leaving  bool // lnet is being asked to give the message up
	credited bool // the message's credit has been given back to the peer

	batched bool // the goroutine that handles the batch ends the message with the others (conn.endBatch)
	next    *rx  // next in the list conn.spare
}

var rxs = sync.Pool{New: func() any { return new(rx) }}

// newRx makes the rx of the message in m, which arrived in b. c.mu is held. If an earlier
// message of this connection has left an rx, newRx uses it again: lnet has cached data about the
// peer in its Delivery.
func (c *conn) newRx(m *kib.Msg, slot uint32, b verbs.Buffer) *rx {
	r := c.spare
	if r != nil {
		c.spare, r.next = r.next, nil
		c.spares--
	} else {
		r = rxs.Get().(*rx)
	}
	r.Header, r.From, r.Incarnation, r.ReceivedAt = m.LNet, lustre(c.peer.id), c.peerStamp, c.now
	r.Sink, r.Dropped, r.Driver, r.ReadLoop = lnd.Payload{}, false, r, c.ni.loop
	r.conn, r.kind, r.cookie, r.slot = c, m.Type, m.Cookie, slot
	r.RDMAGet = m.Type == kib.GetReq
	r.payload, r.buffer, r.lost = m.Payload, b, nil
	r.held, r.recv, r.leaving, r.credited, r.batched = false, false, false, false, false
	c.rxs++
	return r
}

// giveBack returns the buffer, if that has not been done.
func (r *rx) giveBack() {
	if r.buffer.Bytes != nil {
		b := r.buffer
		r.buffer, r.payload = verbs.Buffer{}, nil
		r.conn.ni.pool.Return(b)
	}
}

// end ends r when Delivered has returned or will never be called. If r is batched it stays in use
// until the end of its batch.
func (r *rx) end(consumed bool) {
	c := r.conn
	r.giveBack()
	r.Owner, r.Sink, r.conn, r.payload, r.written = nil, lnd.Payload{}, nil, nil, lnd.Payload{}
	clear(r.pieces)
	r.pieces = r.pieces[:0]
	if cap(r.kept) > kib.MaxMsgSize {
		r.kept = nil
	}
	switch {
	case r.credited:
		c.peer.kept.Add(-1)
	case consumed:
		c.consumed.Add(1)
	}
	if r.batched {
		return
	}
	c.mu.Lock()
	if c.state == connOpen && c.consumed.Load() > 0 {
		c.step(exchangeIn{kind: exchangeConsumed})
	}
	c.keep(r)
	c.unlock()
}

// keep keeps r, which has ended, for a later message of its connection. c.mu is held.
func (c *conn) keep(r *rx) {
	c.rxs--
	if c.spares < mostHandled && c.state == connOpen {
		r.next, c.spare = c.spare, r
		c.spares++
		return
	}
	r.Cache = nil
	rxs.Put(r)
}
