package socklnd

import "ulnet/lnd/socklnd/ksock"

// Zero-copy acks. A peer that sends payload by reference puts a cookie into
// the message header and wants it back, exactly once, when the payload has
// been taken, also if it was dropped; kernels do so from 16 KiB on and give
// the peer up after sock_timeout. This side never asks for acks, so every ack
// that arrives is for a cookie that was never sent.

// maxPendingAcks bounds the acks that wait to be sent on one connection: a
// peer that asks for more reads nothing.
const maxPendingAcks = 1024

// ack sends a NOOP with cookie: on a BULK_IN connection, normally the one on
// which the message came, else on any.
func (p *peer) ack(from *conn, cookie uint64) {
	p.mu.Lock()
	if !from.attached {
		p.unlock()
		return // closed meanwhile; the peer knows
	}
	to := from
	if from.ctype != ksock.BulkIn {
		to = leastBusy(p.routes.acks)
	}
	flush, ok := to.tx.pushNoop(cookie)
	p.unlock()
	switch {
	case !ok:
		p.fail(from, newError(TooManyAcks, p.id, nil))
	case flush:
		to.tx.flush()
	}
}

// pushNoop queues a NOOP and reports whether the caller has to flush; ok is
// false if too many wait. The caller holds peer.mu, and the connection is
// attached.
func (w *writer) pushNoop(cookie uint64) (flush, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.noops) >= maxPendingAcks {
		return false, false
	}
	w.noops = append(w.noops, cookie)
	flush = !w.writing
	w.writing = true
	return flush, true
}

// checkAcks refuses the acks in a message header.
func (c *conn) checkAcks(h ksock.MsgHeader) *Error {
	acks, err := h.Acks()
	if err != nil || acks.Len() > 0 {
		return newError(BadAck, c.peer.id, err)
	}
	return nil
}
