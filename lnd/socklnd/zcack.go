package socklnd

import "ulnet/lnd/socklnd/ksock"

// Zero-copy acks. A peer that sends payload by reference puts a cookie into the message
// header and wants it back, exactly once, when the payload has been received or dropped.
// Kernels do so from 16 KiB on, and close the connections to a peer that does not return the
// cookie within sock_timeout. This side never asks for acks, so every ack that arrives is for
// a cookie that was never sent.

// ack acknowledges cookie. The parameter from is the connection on which the message with the cookie came. In
// version 3 and later the ack goes on a connection of type BULK_IN, normally on from itself, or on any other
// connection while there is no BULK_IN. In version 2 it goes on a connection for small messages.
func (p *peer) ack(from *conn, cookie uint64) {
	p.mu.Lock()
	if !from.attached {
		p.unlock()
		return // the connection was closed, so the peer does not wait for the ack any more
	}
	to := from
	if !from.tx.mergesAcks() {
		to = leastBusy(p.routes.acks)
	}
	flush, why := to.tx.pushNoop(cookie)
	p.unlock()
	switch {
	case why == TooManyAcks:
		p.fail(from, newError(TooManyAcks, p.id, nil))
	case why != ReasonNone:
		p.ni.counts.count(why)
	case flush:
		to.tx.Flush()
	}
}

// pushNoop queues a NOOP with cookie, or adds the cookie to a NOOP that waits, and reports whether
// the caller has to flush. If the cookie is refused, why is TooManyAcks or RepeatedCookie. The
// caller holds peer.mu, and the connection is attached.
func (w *writer) pushNoop(cookie uint64) (flush bool, why Reason) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if why := w.acks.add(cookie, w.mergesAcks()); why != ReasonNone {
		return false, why
	}
	flush = w.seizeDelayed() || !w.writing
	w.writing = true
	return flush, ReasonNone
}

// mergesAcks reports whether a NOOP on this connection may acknowledge several cookies. On other
// connections acks travel with messages (socklnd ksocknal_queue_tx_zcack_v3).
func (w *writer) mergesAcks() bool {
	return w.c.version >= ksock.V3 && w.c.ctype == ksock.BulkIn
}

// checkAcks checks the acks in the message header h.
func (c *conn) checkAcks(h ksock.MsgHeader) *Error {
	acks, err := h.Acks()
	if err != nil || acks.Len() > 0 {
		return newError(BadAck, c.peer.id, err)
	}
	return nil
}

// maxPendingAcks bounds the NOOPs that wait to be sent on one connection. A peer that requests more
// acks evidently does not read them.
const maxPendingAcks = 1024

// ackQueue has the NOOPs that wait to be sent on a connection, each as the two cookies in its
// header. {0, c} acknowledges c. {a, b} acknowledges a and b if a > b, and the range from a to b if
// a < b.
type ackQueue [][2]uint64

// add queues the ack of cookie, or a keepalive. A queued keepalive is replaced by any ack. The result is ReasonNone,
// or the reason for which cookie is refused.
func (q *ackQueue) add(cookie uint64, merge bool) Reason {
	if n := len(*q); n > 0 {
		last := &(*q)[n-1]
		switch {
		case cookie == ksock.Keepalive:
			return ReasonNone
		case *last == [2]uint64{0, ksock.Keepalive}:
			last[1] = cookie
			return ReasonNone
		case acknowledges(*last, cookie):
			return RepeatedCookie
		case merge && mergeAck(last, cookie):
			return ReasonNone
		case n >= maxPendingAcks:
			return TooManyAcks
		}
	}
	*q = append(*q, [2]uint64{0, cookie})
	return ReasonNone
}

// carried returns the cookie that the next message can carry, 0 for none.
func (q ackQueue) carried() uint64 {
	if len(q) == 0 || q[0][0] != 0 {
		return 0
	}
	return q[0][1]
}

// remove removes the first n cookies.
func (q *ackQueue) remove(n int) { *q = (*q)[:copy(*q, (*q)[n:])] }

// acknowledges reports whether a NOOP with these cookies acknowledges cookie.
func acknowledges(noop [2]uint64, cookie uint64) bool {
	a, b := noop[0], noop[1]
	return cookie == a || cookie == b || a != 0 && a < cookie && cookie < b
}

// mergeAck adds cookie to a NOOP, if the result is a pair or a range. A pair becomes a range
// when it and the cookie are three consecutive numbers.
func mergeAck(noop *[2]uint64, cookie uint64) bool {
	a, b := noop[0], noop[1]
	low, high := min(a, b, cookie), max(a, b, cookie)
	switch {
	case a == 0:
		*noop = [2]uint64{max(b, cookie), min(b, cookie)}
		return true
	case a > b && high-low != 2:
		return false
	case a < b && (cookie != low || low+1 != a) && (cookie != high || high-1 != b):
		return false
	case high-low >= ksock.MaxAckRange:
		return false
	}
	*noop = [2]uint64{low, high}
	return true
}
