package o2iblnd

import (
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// write queues the WRITEs that transfer n bytes of p to t.frags. After them the message of t, a
// PUT_DONE or GET_DONE, is sent.
func (x *exchange) write(now time.Duration, t *tx, p lnd.Payload, n int, out *exchangeOut) {
	x.list(now, t)
	t.src, t.left, t.frag, t.fragOff = newCursor(p), n, 0, 0
	t.status = int32(n)
	if x.writesFor(t) > x.cfg.maxFrags {
		out.Counted = append(out.Counted, TooManyFrags)
		t.err = newError(TooManyFrags, lustre(x.cfg.peer), nil)
		t.left, t.status = 0, statusTooLong
	}
	if t.left == 0 {
		x.queueDone(t)
		return
	}
	t.phase = phaseWriting
	x.writing.push(t)
}

func (x *exchange) queueDone(t *tx) {
	t.phase = phaseQueued
	x.uncredited.push(t)
}

// writesFor returns how many WRITEs t takes by the rules of o2iblnd-wire §8.4: each WRITE
// goes to one fragment, and gathers up to cfg.gather pieces.
func (x *exchange) writesFor(t *tx) (n int) {
	src, left := t.src, t.left
	for i := 0; i < len(t.frags) && left > 0; i++ {
		for rest := min(int(t.frags[i].Length), left); rest > 0; n++ {
			took := src.pass(rest, x.cfg.gather)
			if took == 0 {
				return n // the payload has less memory than its Length says
			}
			rest -= took
			left -= took
		}
	}
	return n
}

// turn posts the next WRITEs of the first transfer in the queue.
func (x *exchange) turn(now time.Duration, out *exchangeOut) {
	t := x.writing.peek()
	last, budget := -1, turnBytes
	for n := 0; n < turnWRs && budget > 0 && t.left > 0; n++ {
		wr, ok := x.writeOne(t, budget, out)
		if !ok {
			x.cannotWrite(t)
			break
		}
		budget -= int(wr.remote.Length)
		last = len(out.WRs)
		out.WRs = append(out.WRs, wr)
	}
	if last >= 0 {
		out.WRs[last].id, out.WRs[last].signaled = t.slot|turnMark, true
		t.posted++
		x.turns++
		x.sentAt = now
	}
	if t.left == 0 {
		x.writing.pop()
		x.queueDone(t)
	}
}

// writeOne makes one WRITE of at most budget bytes.
func (x *exchange) writeOne(t *tx, budget int, out *exchangeOut) (wr workRequest, ok bool) {
	for t.frag < len(t.frags) && t.fragOff == t.frags[t.frag].Length {
		t.frag, t.fragOff = t.frag+1, 0
	}
	if t.frag == len(t.frags) {
		return wr, false
	}
	f := t.frags[t.frag]
	wr = workRequest{id: silentID, op: verbs.Write, rkey: t.key}
	wr.pieces[0] = len(out.Pieces)
	n := min(int(f.Length-t.fragOff), t.left, budget)
	if out.Pieces, n = t.src.take(n, x.cfg.gather, t.mr, out.Pieces); n == 0 {
		return wr, false
	}
	wr.pieces[1] = len(out.Pieces)
	wr.remote = verbs.Frag{Address: f.Address + uint64(t.fragOff), Length: uint32(n)}
	t.fragOff += uint32(n)
	t.left -= n
	x.counts.bytesOut += uint64(n)
	return wr, true
}

// cannotWrite ends a transfer whose payload is shorter than its length says.
func (x *exchange) cannotWrite(t *tx) {
	t.left, t.status = 0, statusFault
	t.err = newError(BadHeader, lustre(x.cfg.peer), syscall.EFAULT)
}

// reply answers a GET_REQ: t has the REPLY and its memory, or a status in error.
func (x *exchange) reply(now time.Duration, t *tx, out *exchangeOut) {
	x.answerBy = 0
	if x.gets.head == t { // otherwise lnet holds the oldest GET_REQ, and maybe others
		x.answerBy = now + getPause
	}
	x.ungets(t)
	if t.msg != nil && t.msg.Payload.Length > t.total {
		t.err = newError(BadDescriptor, lustre(x.cfg.peer), syscall.EMSGSIZE)
		t.status = statusTooLong
		out.Counted = append(out.Counted, BadDescriptor)
	}
	if t.msg == nil || t.err != nil {
		x.list(now, t)
		x.queueDone(t)
	} else {
		t.priority = t.msg.Priority
		x.write(now, t, t.msg.Payload, t.msg.Payload.Length, out)
	}
	x.flush(now, out) // flush before owed is raised, so that the GET_DONE does not give back the credit of its GET_REQ (o2iblnd-wire §9)
	t.answers = true
	x.answering++
	if x.answering <= x.cfg.depth {
		x.owed++
	}
}

// answered notes that an answer to a GET_REQ has ended. It gives back a credit if the answers that
// were under way were more than the queue depth: then reply has held one back.
func (x *exchange) answered() {
	if x.answering > x.cfg.depth {
		x.owed++
	}
	x.answering--
}

// awaitReply sets the deadline for lnet's answer to t.
func (x *exchange) awaitReply(now time.Duration, t *tx) {
	x.list(now, t)
}

// getFor returns the GET_REQ of the peer that waits for a REPLY and with which the node asker fetches
// data to its MD h; nil if there is none.
func (x *exchange) getFor(asker nid.NID, h wire.MDHandle) *tx {
	for t := x.gets.head; t != nil; t = t.next {
		if t.handle == h && t.asker == asker && t.msg == nil {
			return t
		}
	}
	return nil
}

// getAt returns the GET_REQ in a slot, if it still waits for lnet.
func (x *exchange) getAt(slot uint32, cookie uint64) *tx {
	if int(slot) < len(x.slots) {
		if t := x.slots[slot]; t != nil && t.phase == phaseReply && t.cookie == cookie {
			return t
		}
	}
	return nil
}

// ungets takes t from the GET_REQs that wait for lnet.
func (x *exchange) ungets(t *tx) {
	var kept txQueue
	for u := x.gets.pop(); u != nil; u = x.gets.pop() {
		if u != t {
			kept.push(u)
		}
	}
	x.gets = kept
}
