package capture

import (
	"slices"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// message processes a whole SEND, which has one message of o2iblnd.
func (c *roceConn) message(fl *roceFlow, f *roceFrame) {
	rec := c.r.record(c, fl.side, Unknown, f)
	rec.Raw, rec.Length, rec.Err = fl.buf, uint64(len(fl.buf)), fl.broken
	if rec.Err == nil {
		rec.RoCE.Msg, rec.Err = kib.ParseMsg(fl.buf)
	}
	if rec.Err != nil {
		c.r.d.deliver(rec)
		return
	}
	m := &rec.RoCE.Msg
	rec.Kind, rec.RoCE.HasMsg = Exchange, true
	rec.Checksum = kibChecksum(m, fl.buf)
	c.learnNIDs(rec)
	if m.Type.HasLNet() {
		rec.Kind, rec.Header, rec.Err = Message, m.LNet, m.LNet.Validate()
		rec.Payload = m.Payload[:min(len(m.Payload), c.r.d.opt.KeepPayload)]
	}
	c.transfer(rec)
	c.r.d.deliver(rec)
	if t := rec.RoCE.Transfer; t != nil && m.Type != kib.PutAck {
		c.forgetTransfer(t)
	}
}

// kibChecksum judges the checksum of a message.
func kibChecksum(m *kib.Msg, b []byte) ChecksumState {
	switch {
	case m.Checksum == 0:
		return ChecksumNone
	case m.VerifyChecksum(b) == nil:
		return ChecksumGood
	case len(m.Payload) > 0:
		return ChecksumUnchecked // kernels do not include the payload in the checksum
	}
	return ChecksumBad
}

// transfer follows the RDMA transfer that a message begins, continues or ends.
func (c *roceConn) transfer(r *Record) {
	m := &r.RoCE.Msg
	switch m.Type {
	case kib.PutReq:
		c.begin(&Transfer{Request: kib.PutReq, From: r.From, Header: m.LNet, requested: m.Cookie})
	case kib.GetReq:
		t := &Transfer{Request: kib.GetReq, From: r.From, Header: m.LNet, requested: m.Cookie, cookie: m.Cookie}
		t.describe(&m.Desc)
		c.begin(t)
	case kib.PutAck:
		t := c.waiting(kib.PutReq, r.From.Other(), m.Cookie, false)
		if t != nil {
			c.r.frags -= t.size()
			t.cookie = m.DstCookie
			t.describe(&m.Desc)
			c.r.frags += t.size()
			c.r.shrink()
		}
		r.RoCE.Transfer = t
	case kib.PutNak:
		r.RoCE.Transfer = c.waiting(kib.PutReq, r.From.Other(), m.Cookie, false)
	case kib.PutDone:
		r.RoCE.Transfer = c.waiting(kib.PutReq, r.From, m.Cookie, true)
	case kib.GetDone:
		r.RoCE.Transfer = c.waiting(kib.GetReq, r.From.Other(), m.Cookie, true)
	}
	if m.Type.HasLNet() || m.Type == kib.Noop {
		return
	}
	if t := r.RoCE.Transfer; t != nil {
		r.Header = t.Header
	} else if r.Err == nil {
		r.Err = ErrNoAnswer
	}
}

// describe notes the memory that the data is to be written to.
func (t *Transfer) describe(d *kib.Desc) {
	t.key, t.frags = d.Key, make([]kib.Frag, d.Len())
	for i := range t.frags {
		t.frags[i] = d.Frag(i)
	}
}

// size returns as how many fragments a transfer counts towards maxFragments.
func (t *Transfer) size() int { return ownFragments + len(t.frags) }

// begin remembers t until the transfer is complete.
func (c *roceConn) begin(t *Transfer) {
	if len(c.moving) >= maxTransfers {
		c.forgetTransfer(c.moving[0])
	}
	c.moving = append(c.moving, t)
	t.conn, t.age = c, c.r.moving.PushBack(t)
	c.r.frags += t.size()
	c.r.shrink()
}

// shrink forgets the oldest transfers of all connections until they keep to maxFragments. Transfers take
// milliseconds, so the oldest are those that do not end.
func (r *roce) shrink() {
	for r.frags > maxFragments {
		t := r.moving.Front().Value.(*Transfer)
		t.conn.forgetTransfer(t)
	}
}

// drop takes a transfer out of the sums and the list of all connections.
func (r *roce) drop(t *Transfer) {
	r.bulk -= len(t.Payload)
	r.frags -= t.size()
	r.moving.Remove(t.age)
}

func (c *roceConn) forgetTransfer(t *Transfer) {
	if i := slices.Index(c.moving, t); i >= 0 {
		c.moving = slices.Delete(c.moving, i, i+1)
		c.r.drop(t)
	}
	for _, fl := range c.flows {
		if fl.write == t {
			fl.write = nil
		}
	}
}

// waiting finds the latest transfer with a cookie: the cookie of the request or, if
// described is set, the cookie by which a DONE names the transfer.
func (c *roceConn) waiting(request kib.MsgType, from Side, cookie uint64, described bool) *Transfer {
	for i := len(c.moving) - 1; i >= 0; i-- {
		t := c.moving[i]
		if t.Request != request || t.From != from || described && t.frags == nil {
			continue
		}
		if !described && t.requested == cookie || described && t.cookie == cookie {
			return t
		}
	}
	return nil
}

// target finds the transfer to which an RDMA WRITE of the given side belongs.
func (c *roceConn) target(side Side, h ibta.RETH) *Transfer {
	for i := len(c.moving) - 1; i >= 0; i-- {
		t := c.moving[i]
		if t.writer() != side || t.key != uint32(h.RKey) {
			continue
		}
		if _, ok := t.offset(h.Address); ok {
			return t
		}
	}
	return nil
}

// offset returns the offset in the payload that an address stands for.
func (t *Transfer) offset(address uint64) (n uint64, ok bool) {
	for _, f := range t.frags {
		if at := address - f.Address; at < uint64(f.Length) {
			return n + at, true
		}
		n += uint64(f.Length)
	}
	return 0, false
}

// moved notes what a packet of an RDMA WRITE carries. Payload is kept from the
// beginning as far as it comes in order, which is how kernels write.
func (c *roceConn) moved(t *Transfer, address uint64, f *roceFrame) {
	t.Bytes += uint64(len(f.Payload))
	at, ok := t.offset(address)
	if !ok || at != uint64(len(t.Payload)) {
		return
	}
	room := min(c.r.d.opt.KeepPayload-len(t.Payload), maxBulk-c.r.bulk)
	n := min(len(f.Payload), max(0, room))
	t.Payload = append(t.Payload, f.Payload[:n]...)
	c.r.bulk += n
}
