//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import "ulnet/lnd/verbs"

// completed translates a completion and appends it to the batch. The caller holds polling. Of a
// completion in error only wr_id, status and qp_num are valid.
func (q *queue) completed(wc *C.struct_ibv_wc) {
	id, status := wrID(wc.wr_id), statusOf(uint32(wc.status))
	if id.isReceive() {
		q.received(id, wc, status)
		return
	}
	d := q.dev
	d.table.RLock()
	qp := d.byToken[id.owner()]
	d.table.RUnlock()
	if qp == nil {
		return // the queue pair is gone: its work requests have completed without the device
	}
	qp.mu.Lock()
	q.pending = qp.ring.complete(id.item(), status, qp.qpn, q.pending)
	atRest := qp.atRest()
	qp.mu.Unlock()
	if status != verbs.Success {
		qp.failed(status)
	}
	if atRest {
		qp.linger()
	}
}

// received adds an arrived message to the batch, or gives its buffer back.
func (q *queue) received(id wrID, wc *C.struct_ibv_wc, status verbs.Status) {
	d := q.dev
	d.table.RLock()
	p, qp := d.pools[id.owner()], d.byQPN[uint32(wc.qp_num)]
	d.table.RUnlock()
	if p == nil {
		return
	}
	i, size := id.item(), int(wc.byte_len)
	if status == verbs.Success && (size > p.cfg.Size+netHeaderSize || qp != nil && qp.ud == nil && size > p.cfg.Size) {
		status = verbs.LocalLength // the message took the room that each buffer has for a network header, too
	}
	if qp == nil || qp.quiet.Load() || status != verbs.Success {
		p.give(i)
		if qp != nil && status != verbs.Success {
			qp.failed(status)
		}
		return
	}
	c := verbs.Completion{ID: qp.recvID, QPN: qp.qpn, Op: verbs.Receive}
	b := p.bytes(i, size)
	if qp.ud != nil {
		if size < netHeaderSize || !qp.ud.accept(b, uint32(wc.src_qp), qp.qpn, &c) {
			p.give(i)
			return
		}
		b = b[netHeaderSize:]
	}
	p.take(i)
	c.Buffer = verbs.Buffer{Bytes: b[:len(b):len(b)], Token: uint64(i)}
	q.pending = append(q.pending, c)
}
