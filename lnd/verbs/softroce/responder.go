package softroce

import (
	"bytes"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// message is the kind of message that a responder is receiving.
type message uint8

const (
	noMessage message = iota
	aSend
	aWrite
)

// responder handles the peer's requests in order.
type responder struct {
	expected ibta.PSN
	msn      uint32
	nakSent  bool     // a NAK for a missing packet was sent, and the packet has not come yet
	dropped  ibta.PSN // the last packet that was dropped in this step because an earlier one is missing

	in      message
	buffer  verbs.Buffer // receive buffer of the SEND in progress
	apart   bool         // buffer is memory of this connection, not of the pool, see yield
	seen    ibta.PSN     // value that the field expected had in the last call of yield
	length  int          // bytes received of the SEND in progress
	key     ibta.RKey    // remote key of the WRITE in progress
	address uint64       // address at which the WRITE continues
	left    uint32       // bytes of the WRITE that are still to come

	answer    ibta.Syndrome // answer to send at the end of the step
	answerPSN ibta.PSN
	answering bool
}

// drop gives back the buffer of a message that will not be complete.
func (r *responder) drop(p pool) {
	if r.in == aSend && !r.apart {
		p.Return(r.buffer)
	}
	r.in, r.buffer, r.apart = noMessage, verbs.Buffer{}, false
}

// yield frees the receive buffer of the SEND in progress if no packet of it has come since the last
// yield: its sender may have died, or may never send the rest. What has come stays in memory of the
// connection, which grows with what comes.
func (r *responder) yield(p pool) {
	stuck := r.in == aSend && !r.apart && r.seen == r.expected
	if r.seen = r.expected; !stuck {
		return
	}
	b := bytes.Clone(r.buffer.Bytes[:r.length])
	p.Return(r.buffer)
	r.buffer, r.apart = verbs.Buffer{Bytes: b}, true
}

// returns takes a receive buffer for the last packet of a SEND whose buffer was freed by yield. It
// returns false if there is none.
func (r *responder) returns(p pool) bool {
	b, ok := p.Take()
	if ok {
		copy(b.Bytes, r.buffer.Bytes[:r.length])
		r.buffer, r.apart = b, false
	}
	return ok
}

// store appends b to the SEND in progress. It returns false if the SEND would be longer than longest, or
// than its buffer.
func (r *responder) store(b []byte, longest int) bool {
	switch n := r.length + len(b); {
	case n > longest || !r.apart && n > len(r.buffer.Bytes):
		return false
	case r.apart:
		r.buffer.Bytes = append(r.buffer.Bytes, b...)
	default:
		copy(r.buffer.Bytes[r.length:], b)
	}
	r.length += len(b)
	return true
}

// reply sets the answer to send at the end of the step. Of several ACKs the last one counts. A later
// answer does not replace a NAK, with one exception: a NAK for a missing packet is replaced by another
// NAK, and by an ACK if the missing packet has come.
func (r *responder) reply(s ibta.Syndrome, psn ibta.PSN) {
	if r.answering && !r.answer.IsAck() && (r.answer != ibta.NakSequence || r.nakSent && s.IsAck()) {
		return
	}
	r.answering, r.answer, r.answerPSN = true, s, psn
}

// acknowledge sends the ACK or NAK of this step.
func (c *rc) acknowledge(out *rcOutput) {
	r := &c.resp
	if !r.answering {
		return
	}
	r.answering = false
	p := rcPacket{Packet: ibta.Packet{
		BTH:  ibta.BTH{OpCode: ibta.Acknowledge, PSN: r.answerPSN},
		AETH: ibta.AETH{Syndrome: r.answer, MSN: r.msn},
	}}
	c.address(&p.Packet)
	out.Packets = append(out.Packets, p)
}

// request handles a request packet, with the checks in the order of the reference.
func (c *rc) request(p *ibta.Packet, out *rcOutput) {
	r := &c.resp
	if !p.OpCode.IsRequest() || p.OpCode.IsUD() {
		c.counters.Foreign++
		return
	}
	switch d := p.PSN.Sub(r.expected); {
	case d < 0:
		c.counters.Duplicates++
		r.reply(ibta.AckUnlimited, r.expected.Add(-1))
		return
	case d > 0:
		c.counters.Ahead++
		if !r.nakSent {
			r.nakSent, r.dropped = true, p.PSN
			r.reply(ibta.NakSequence, r.expected)
		}
		if p.PSN.Sub(r.dropped) > 0 {
			r.dropped = p.PSN
		}
		return
	}
	why, dropped := c.execute(p, out)
	if dropped {
		return
	}
	if why != 0 {
		c.counters.Refused++
		r.reply(why, p.PSN)
		c.fail(verbs.General, out)
		return
	}
	r.expected = r.expected.Add(1)
	r.arrived()
	if p.OpCode.IsLast() {
		r.msn = (r.msn + 1) & (1<<24 - 1)
		c.finish(out)
	}
	if p.AckReq {
		r.reply(ibta.AckUnlimited, p.PSN)
	}
}

// arrived is called when the expected packet has come. If a NAK for it is still to be sent at the
// end of the step, the packet was only reordered. Then the NAK names the next packet, if a later
// one was dropped; if none was dropped, an ACK is sent in its place.
func (r *responder) arrived() {
	if !r.nakSent {
		return
	}
	r.nakSent = false
	switch {
	case !r.answering || r.answer != ibta.NakSequence:
	case r.dropped.Sub(r.expected) >= 0:
		r.nakSent, r.answerPSN = true, r.expected
	default:
		r.answer, r.answerPSN = ibta.AckUnlimited, r.expected.Add(-1)
	}
}

// execute executes a packet. refusal is the syndrome of the NAK that refuses the packet, or 0. dropped
// is true for a SEND for which there is no buffer.
func (c *rc) execute(p *ibta.Packet, out *rcOutput) (refusal ibta.Syndrome, dropped bool) {
	r := &c.resp
	kind := aSend
	if p.OpCode.IsWrite() {
		kind = aWrite
	}
	if p.OpCode.IsFirst() != (r.in == noMessage) || !p.OpCode.IsFirst() && r.in != kind || p.OpCode.HasImmediate() {
		return ibta.NakInvalid, false
	}
	n := len(p.Payload)
	if n > c.cfg.MTU || !p.OpCode.IsLast() && n != c.cfg.MTU || p.OpCode.IsLast() && !p.OpCode.IsFirst() && n == 0 {
		return ibta.NakInvalid, false
	}
	if kind == aWrite {
		return c.write(p), false
	}
	if !c.buffered(p) {
		c.counters.NoBuffer++
		out.Starved = true
		return 0, true
	}
	if !r.store(p.Payload, c.cfg.MaxMessage) {
		return ibta.NakInvalid, false
	}
	return 0, false
}

// buffered reports whether there is memory for a packet of a SEND. It takes a receive buffer for
// the first packet, and for the last one if yield has freed the buffer of this SEND.
func (c *rc) buffered(p *ibta.Packet) bool {
	r := &c.resp
	if p.OpCode.IsFirst() {
		b, ok := c.cfg.Pool.Take()
		if ok {
			r.in, r.buffer, r.length = aSend, b, 0
		}
		return ok
	}
	return !r.apart || !p.OpCode.IsLast() || r.returns(c.cfg.Pool)
}

// write carries out one packet of an RDMA WRITE.
func (c *rc) write(p *ibta.Packet) (refusal ibta.Syndrome) {
	const longest = 1 << 31
	r := &c.resp
	n := uint32(len(p.Payload))
	if p.OpCode.IsFirst() {
		if p.RETH.Length > longest {
			return ibta.NakInvalid
		}
		if p.RETH.Length > 0 && !c.cfg.Memory.Check(p.RETH.RKey, p.RETH.Address, p.RETH.Length) {
			return ibta.NakAccess
		}
		r.in, r.key, r.address, r.left = aWrite, p.RETH.RKey, p.RETH.Address, p.RETH.Length
	}
	if n > r.left || p.OpCode.IsLast() != (n == r.left) {
		return ibta.NakInvalid
	}
	if n > 0 && !c.cfg.Memory.Write(r.key, r.address, p.Payload) {
		return ibta.NakAccess // the region was deregistered meanwhile
	}
	r.address, r.left = r.address+uint64(n), r.left-n
	return 0
}

// finish completes the message in progress.
func (c *rc) finish(out *rcOutput) {
	r := &c.resp
	if r.in == aSend {
		b := r.buffer
		b.Bytes = b.Bytes[:r.length]
		out.Completions = append(out.Completions, verbs.Completion{
			ID: c.cfg.ID, QPN: uint32(c.cfg.QPN), Op: verbs.Receive, Buffer: b,
		})
	}
	r.in, r.buffer = noMessage, verbs.Buffer{}
}
