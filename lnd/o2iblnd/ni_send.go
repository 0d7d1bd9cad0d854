package o2iblnd

import (
	"syscall"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/wire"
)

// Send implements lnd.NI.
func (ni *NI) Send(m *lnd.Message) {
	n := ni.messages.Begin()
	if ni.messages.Closing() {
		ni.finalize(m, newError(ShuttingDown, m.Target, nil))
		return
	}
	why, err := ni.sendable(m)
	if why == ReasonNone && n > int64(ni.cfg.NTX) && ni.full(n) {
		why = NoTx
	}
	if why != ReasonNone {
		ni.giveUp(m, newError(why, m.Target, err))
		return
	}
	recent := ni.recent.Slot(m.Target.NID.Hash())
	p := recent.Load()
	if p == nil || p.id != m.Target.NID || p.gone.Load() {
		if p = ni.peers.Get(m.Target.NID); p != nil {
			recent.Store(p)
		}
	}
	t, e := ni.prepare(p, m)
	switch {
	case e != nil:
		ni.giveUp(m, e)
		return
	case t == nil:
		return // the message answers a GET_REQ of the peer, and prepare has sent it
	}
	for p != nil && !p.send(t) {
		p = ni.peers.Get(m.Target.NID) // p was removed from the table after it was found, so find or make another one
	}
	if p == nil {
		t.err = newError(ShuttingDown, m.Target, nil)
		ni.endTx(t)
	}
}

// full reports whether n messages are too many for the NI. Messages that wait for a connection do
// not count. Each connection raises the bound by three times the queue depth: by the messages that
// fill its queue, and by twice as many answers to GET_REQs, the most that an exchange lets its peer
// ask for. So unreachable and stuck peers do not keep messages to other peers from being sent.
func (ni *NI) full(n int64) bool {
	return n-ni.waiting.Load() > int64(ni.cfg.NTX+3*ni.depth*ni.conns.len())
}

// waits tells lnet that t has to wait for a connection.
func (ni *NI) waits(t *tx) {
	t.waited = true
	ni.waiting.Add(1)
	if t.msg != nil {
		ni.up.Waits(t.msg)
	}
}

// giveUp finalizes a message that does not leave, and says why.
func (ni *NI) giveUp(m *lnd.Message, e *Error) {
	ni.counts.count(e.Reason)
	ni.logFailure(m.Target.NID, e)
	ni.finalize(m, e)
}

// sendable checks that m can be encoded.
func (ni *NI) sendable(m *lnd.Message) (Reason, error) {
	h := &m.Header
	fits := h.SrcNID.Is4() && h.DestNID.Is4() && m.Target.NID.Is4() && m.Target.NID.Addr().Is4()
	switch {
	case !fits:
		return BadHeader, kib.ErrLargeNID
	case m.Payload.Length < 0 || m.Payload.Length > lnd.MaxPayload:
		return BadHeader, syscall.EMSGSIZE
	}
	return ReasonNone, nil
}

// protocolOf returns the type of the o2iblnd message that carries m (o2iblnd-wire §8.1).
func protocolOf(m *lnd.Message) kib.MsgType {
	switch {
	case m.Header.Type == wire.Get && m.Sink.Length > kib.MaxImmediate && m.Sink.Length <= lnd.MaxPayload && m.Target.NID == m.Header.DestNID:
		return kib.GetReq // a sink above MaxPayload in a GET_REQ would be a breach of protocol to the peer
	case m.Payload.Length > kib.MaxImmediate:
		return kib.PutReq
	}
	return kib.Immediate
}

// prepare makes the tx of a message. It registers the memory of the message if the device is to
// read it or the peer to write to it. A REPLY that answers a GET_REQ is sent at once: t is nil
// then. If that GET_REQ does not wait any more, prepare fails. p may be nil if the NI ends.
func (ni *NI) prepare(p *peer, m *lnd.Message) (t *tx, e *Error) {
	t = newTx()
	t.msg, t.priority, t.kind = m, m.Priority, protocolOf(m)
	answers := p != nil && m.Header.Type == wire.Reply && p.gets.Load() > 0
	var err error
	switch {
	case t.kind == kib.GetReq:
		err = ni.register(t, m.Sink, verbs.LocalWrite|verbs.RemoteWrite)
		if err == nil && len(t.frags) > kib.MaxFrags {
			ni.deregister(t)
			t.kind, t.frags = kib.Immediate, t.frags[:0] // send it as an IMMEDIATE: the answer will be an ordinary REPLY
		}
	case t.kind == kib.PutReq || answers && m.Payload.Length > 0:
		err = ni.register(t, m.Payload, 0)
	}
	if err != nil {
		t.release()
		return nil, newError(NoMemory, m.Target, err)
	}
	if answers {
		if p.answer(t) {
			t.mr = nil
			t.release()
			return nil, nil
		}
		if t.kind == kib.Immediate {
			ni.deregister(t)
		}
	}
	if m.RDMAReply { // the peer's GET ended with its connection, or has got GET_DONE with an error
		ni.deregister(t)
		t.release()
		return nil, newError(NoReply, m.Target, nil)
	}
	return t, nil
}

// register registers the memory of a payload for the lifetime of t.
func (ni *NI) register(t *tx, p lnd.Payload, access verbs.Access) (err error) {
	t.pieces = p.Append(t.pieces[:0])
	if t.mr, err = ni.mrs.register(ni.pd, t.pieces, access); err != nil {
		return err
	}
	if access != 0 {
		t.key, t.frags, t.total = t.mr.RKey(), t.mr.Frags(t.frags[:0]), p.Length
	}
	return nil
}

func (ni *NI) deregister(t *tx) {
	if t.mr != nil {
		ni.mrs.end(t.mr)
		t.mr = nil
	}
	clear(t.pieces)
	t.pieces = t.pieces[:0]
}
