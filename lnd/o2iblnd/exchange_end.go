package o2iblnd

import (
	"time"

	"ulnet/lnd/o2iblnd/kib"
)

// sent handles the completion of a signaled work request; err is set if the work request failed.
func (x *exchange) sent(id uint32, err *Error, out *exchangeOut) {
	if id == noopID {
		x.noops--
		x.sends--
		return
	}
	if id == silentID {
		return
	}
	if id&turnMark != 0 {
		x.turns--
		id &^= turnMark
	} else {
		x.sends--
	}
	t := x.slots[id]
	t.posted--
	if err != nil && t.err == nil && !t.answered() {
		t.err = err
	}
	x.finish(t, out)
}

// answered reports whether the peer has answered the message of t, and its answer was no error. Then
// the peer has got the message, even if the device reports that it could not be sent: the
// acknowledgement was lost.
func (t *tx) answered() bool {
	return t.phase == phaseLast && (t.kind == kib.PutAck || t.kind == kib.GetReq || t.kind == kib.PutReq)
}

// expire ends the connection if a message has waited too long. A GET_REQ that lnet does not
// answer is no fault of the peer: the peer gets a GET_DONE with an error, and the connection goes on.
func (x *exchange) expire(now time.Duration, out *exchangeOut) {
	for t := x.first; t != nil && now >= t.deadline; t = x.first {
		if t.phase == phaseReply {
			out.Counted = append(out.Counted, NoReply)
			t.status = statusTimedOut
			x.reply(now, t, out)
			continue
		}
		why := SendTimeout
		if t.phase == phaseQueued && x.uncredited.n == 0 {
			why = CreditTimeout
		}
		e := newError(why, lustre(x.cfg.peer), nil)
		e.bulk = t.bulk()
		x.close(e, out)
		return
	}
}

// bulk reports whether t waits until its data has been transferred by RDMA.
func (t *tx) bulk() bool {
	return t.phase == phaseWriting || t.phase == phaseWaiting && (t.kind == kib.GetReq || t.kind == kib.PutAck)
}

// isBulk reports whether a work request is the last RDMA WRITE of a turn.
func isBulk(id uint32) bool { return id != noopID && id != silentID && id&turnMark != 0 }

// close ends the connection. Transfers that have posted nothing end at once, others with
// their last completion.
func (x *exchange) close(err *Error, out *exchangeOut) {
	x.failed, out.Closed = err, err
	x.uncredited, x.gets = txQueue{}, txQueue{}
	x.starved, x.credited, x.writing = classQueue{}, classQueue{}, classQueue{}
	for _, t := range x.slots {
		if t == nil {
			continue
		}
		t.next = nil
		if t.phase != phaseLast && t.err == nil {
			t.err = err
		}
		t.phase = phaseLast
		x.unlist(t)
		x.finish(t, out)
	}
}
