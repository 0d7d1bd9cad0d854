package o2iblnd

import (
	"errors"
	"fmt"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/wire"
)

// flush posts the work requests of the steps. mu is held before and after.
func (c *conn) flush() {
	out := c.out
	c.out, c.posting = nil, true
	c.mu.Unlock()
	err := c.vc.PostSend(c.workRequests(out))
	c.mu.Lock()
	c.posting = false
	if err != nil {
		why := NotPosted
		if errors.Is(err, verbs.ErrClosed) {
			why = TransportFailed
		}
		c.notPosted(out, newError(why, lustre(c.peer.id), err))
	}
	out.Reset()
	outs.Put(out)
}

// tellEnded carries out the effects of the steps besides work requests: it counts reasons, finalizes
// messages that have ended, and ends the connection. mu is held before and after.
func (c *conn) tellEnded() {
	for _, why := range c.out.Counted {
		c.ni.counts.count(why)
	}
	done, closed := c.out.Done, c.out.Closed
	c.out.Done, c.out.Closed, c.out.Counted = txQueue{}, nil, c.out.Counted[:0]
	if done.n == 0 && closed == nil {
		return
	}
	// Post before the calls of lnet, which may take long; also post what other goroutines have left
	// to this one meanwhile. But post no more than twice: the messages that have ended hold credits
	// of lnet until they are finalized.
	for n := 0; n < 2 && c.out != nil && len(c.out.WRs) > 0 && !c.out.tells() && !c.posting; n++ {
		c.flush()
	}
	c.ending++
	c.mu.Unlock()
	if closed != nil {
		c.vc.Disconnect() // before the calls of lnet, which may take long: until Disconnect the device takes messages of the peer
	}
	for t := done.pop(); t != nil; t = done.pop() {
		c.endTx(t)
	}
	if closed != nil {
		c.down(closed)
	}
	c.mu.Lock()
	c.ending--
}

// workRequests returns the work requests of out, which use the memory of out.
func (c *conn) workRequests(out *exchangeOut) []verbs.SendWR {
	out.posts, out.sges = out.posts[:0], out.sges[:0]
	need := len(out.WRs) + len(out.Pieces)
	if cap(out.sges) < need { // make room for all pieces at once, because work requests refer to them
		out.sges = make([]verbs.SGE, 0, 2*need)
	}
	for i := range out.WRs {
		wr := &out.WRs[i]
		begin := len(out.sges)
		if wr.bytes[1] > wr.bytes[0] {
			out.sges = append(out.sges, verbs.SGE{Bytes: out.Bytes[wr.bytes[0]:wr.bytes[1]]})
		}
		out.sges = append(out.sges, out.Pieces[wr.pieces[0]:wr.pieces[1]]...)
		out.posts = append(out.posts, verbs.SendWR{
			ID: uint64(c.id)<<32 | uint64(wr.id), Op: wr.op, Pieces: out.sges[begin:len(out.sges):len(out.sges)],
			Signaled: wr.signaled, Remote: wr.remote, RKey: wr.rkey,
		})
	}
	return out.posts
}

// notPosted ends the connection because out could not be posted. c.mu is held.
func (c *conn) notPosted(out *exchangeOut, failed *Error) {
	for i := range out.WRs {
		if out.WRs[i].signaled {
			c.step(exchangeIn{kind: exchangeSent, id: out.WRs[i].id, err: failed})
		}
	}
	c.step(exchangeIn{kind: exchangeClose, err: failed})
}

// completed processes a batch of completions; it is the upcall of the NI's completion queue. Completions
// that follow each other and are of one kind and one connection go to the connection together.
func (ni *NI) completed(batch []verbs.Completion) {
	ni.upcalls.begin()
	defer ni.upcalls.end()
	for len(batch) > 0 {
		n := 1
		for n < len(batch) && alike(&batch[0], &batch[n]) {
			n++
		}
		list := batch[:n]
		batch = batch[n:]
		c := ni.conns.at(uint32(list[0].ID >> 32))
		switch {
		case list[0].Op != verbs.Receive:
			if c != nil {
				c.completed(list)
			}
		case c != nil && list[0].Status == verbs.Success:
			c.receive(list)
		default:
			ni.notReceived(c, list)
		}
	}
}

// alike reports whether two completions are of the same connection and of the same kind: of work
// requests, of messages that arrived, or of receives that failed.
func alike(a, b *verbs.Completion) bool {
	if a.ID>>32 != b.ID>>32 || (a.Op == verbs.Receive) != (b.Op == verbs.Receive) {
		return false
	}
	return a.Op != verbs.Receive || (a.Status == verbs.Success) == (b.Status == verbs.Success)
}

// notReceived handles receives that failed, or that belong to no connection: c is nil for the
// latter.
func (ni *NI) notReceived(c *conn, list []verbs.Completion) {
	for i := range list {
		done := &list[i]
		if done.Buffer.Bytes != nil {
			ni.pool.Return(done.Buffer)
		}
		if c != nil && done.Status != verbs.Flushed {
			c.fail(newError(TransportFailed, lustre(c.peer.id), done.Status))
		}
	}
}

// completed handles the completions of work requests, under one lock.
func (c *conn) completed(list []verbs.Completion) {
	c.mu.Lock()
	if c.x == nil {
		c.mu.Unlock()
		return
	}
	before := len(c.flushed)
	c.tick()
	for i := range list {
		c.sent(uint32(list[i].ID), list[i].Status)
	}
	flushed := len(c.flushed) > before
	c.unlock()
	if flushed {
		c.vc.Disconnect() // the last event of the connection, with the reason, follows
	}
}

// sent steps the exchange with the completion of a work request. c.mu is held.
func (c *conn) sent(id uint32, status verbs.Status) {
	var failed *Error
	switch {
	case status == verbs.Success:
	case status == verbs.Flushed && c.state == connOpen:
		c.flushed = append(c.flushed, id)
		return
	case c.x.failed != nil:
		failed = c.x.failed // if the exchange has failed before, report that failure
	default:
		failed = newError(TransportFailed, lustre(c.peer.id), status)
		failed.bulk = isBulk(id)
	}
	c.stepAt(c.now, exchangeIn{kind: exchangeSent, id: id, err: failed})
	if failed != nil {
		c.stepAt(c.now, exchangeIn{kind: exchangeClose, err: failed})
	}
}

// endFlushed handles the work requests that were flushed before the cause was known. c.mu is
// held, and the exchange has failed.
func (c *conn) endFlushed() {
	for _, id := range c.flushed {
		c.step(exchangeIn{kind: exchangeSent, id: id, err: c.x.failed})
	}
	c.flushed = nil
}

// endTx ends a transfer or message of the connection, and tells lnet.
func (c *conn) endTx(t *tx) {
	c.checkWritten(t)
	switch t.kind {
	case kib.PutAck:
		c.ni.deregister(t)
		r, err := t.rx, t.err
		t.release()
		c.ni.up.Delivered(&r.Delivery, err)
		r.end(false)
		return
	case kib.GetDone:
		c.peer.gets.Add(-1)
	case kib.GetReq:
		if t.err == nil {
			c.deliverReply(t)
			return
		}
	}
	c.ni.endTx(t)
}

// checkWritten fails a transfer of which the peer has written less than it says: kernels omit
// the end of a reply that is shorter than its sink (o2iblnd-wire §8.3). This is noticed only
// with devices that count the bytes that arrive.
func (c *conn) checkWritten(t *tx) {
	m, ok := t.mr.(verbs.WriteCounter)
	if !ok || t.err != nil || t.kind != kib.GetReq && t.kind != kib.PutAck || t.status <= 0 || m.Written() >= uint64(t.status) {
		return
	}
	c.ni.counts.count(NotWritten)
	t.err = newError(NotWritten, lustre(c.peer.id), fmt.Errorf("%d bytes of %d", m.Written(), t.status))
	c.ni.logFailure(c.peer.id, t.err)
}

// endTx finalizes the message of t, if it has one.
func (ni *NI) endTx(t *tx) {
	ni.deregister(t)
	m, err := t.msg, t.err
	if t.waited {
		ni.waiting.Add(-1)
	}
	t.release()
	if m != nil {
		ni.finalize(m, err)
	}
}

// deliverReply delivers a REPLY to lnet when a GET_DONE has arrived: o2iblnd sends no REPLY on the
// wire. The peer has written its data to the sink of the GET.
func (c *conn) deliverReply(t *tx) {
	get := t.msg.Header
	m := kib.Msg{Header: kib.Header{Type: kib.GetDone}, LNet: wire.Header{
		DestNID: get.SrcNID, DestPID: get.SrcPID, SrcNID: get.DestNID, SrcPID: get.DestPID, PayloadLength: uint32(t.status),
	}}
	m.LNet.SetReply(wire.ReplyCmd{DstMD: get.Get().ReturnMD})
	c.mu.Lock()
	r := c.newRx(&m, 0, verbs.Buffer{})
	c.mu.Unlock()
	r.pieces, t.pieces = t.pieces, r.pieces // the list of segments in t.msg belongs to lnet from endTx on
	r.written = lnd.Payload{Segments: r.pieces, Length: int(t.status)}
	c.ni.endTx(t) // deregisters the memory
	c.deliver(r)
}

// sameMemory reports whether the bytes of b, as far as a has room for them, are where those of a are, so
// that data written to b is in a as well.
func sameMemory(a, b lnd.Payload) bool {
	x, y := newCursor(a), newCursor(b)
	for left := min(a.Length, b.Length); left > 0; {
		s := x.next(left)
		t := y.next(len(s))
		if len(t) == 0 || &s[0] != &t[0] {
			return false
		}
		x.back(len(s) - len(t))
		left -= len(t)
	}
	return true
}
