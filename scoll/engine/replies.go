package engine

import (
	"math/bits"

	"ulnet/lnet/machine"
	"ulnet/scoll/wire"
)

// returned handles a child's reply (collectives design, Reply Aggregation).
func (m *Machine) returned(in *Input) {
	r := m.requests.byBits[in.Bits]
	if r == nil || r.phase != running {
		m.stats.Late++
		return
	}
	i := r.childOf(r.roster.Rank(in.From))
	if i < 0 {
		m.stats.Stray++
		return
	}
	c := &r.children[i]
	if c.state != waiting && c.state != retrying {
		m.stats.Late++
		return
	}
	if in.Broken { // the child sends it again
		m.repost(r, i, in)
		return
	}
	h, _, err := wire.ParseReplyHeader(in.Data)
	switch {
	case m.cfg.Signed != in.Signed && !in.Cut, err == nil && !in.Cut && (h.Flags&wire.ReplySigned != 0) != in.Signed:
		m.stats.Unsigned++
		m.fail(r, i, wire.EKEY)
	case err != nil:
		m.stats.BadReply++
		m.fail(r, i, wire.EPROTO)
	case h.RootIncarnation != r.header.RootIncarnation || h.Sequence != r.header.Sequence:
		m.stats.Stray++
		m.repost(r, i, in)
		return
	case in.Cut:
		m.stats.Oversized++
		m.fail(r, i, wire.EMSGSIZE)
	case h.Flags&wire.ReplyCollective != 0:
		m.refused(r, i, h.Status, in)
	default:
		m.take(r, i, &h, in)
	}
	m.gather(r)
}

// childOf returns the index of the child with a rank, or -1.
func (r *request) childOf(rank int) int {
	for i := range r.children {
		if r.children[i].Rank == rank {
			return i
		}
	}
	return -1
}

// refused handles an error of a child for its whole subtree. A child that does not know the
// group has forwarded nothing, and gets the request again with the list of members
// (SC-A11). If it then says so once more, that can be about a copy of the first request while the
// child runs the second one. So the machine waits for an answer, and only then takes the error as
// the reason why the subtree is missing.
func (m *Machine) refused(r *request, i int, s wire.Status, in *Input) {
	c := &r.children[i]
	switch {
	case s == wire.ENOGROUP && c.hasJoined():
		m.stats.Late++
		m.repost(r, i, in)
	case s == wire.ENOGROUP && c.listed:
		c.ended = true
		m.repost(r, i, in)
	case s == wire.ENOGROUP && r.bulk == wire.OK && r.header.Flags&(wire.FlagOOB|wire.FlagList) == 0:
		m.stats.Relisted++
		c.listed, c.held, c.word = true, false, 0 // with the list, the child numbers its Hold messages anew
		m.repost(r, i, in)
		m.send(r, i, m.frame(r, true))
		m.schedule(r)
	default:
		m.rejected(r, i, s)
	}
}

// repost posts a child's buffer again after a message that the machine ignores, or that was cut off. Otherwise
// a message that the network delivers twice would take the place of a later part of the reply, and one that the
// child sends again after its connection ended would find no buffer.
func (m *Machine) repost(r *request, i int, in *Input) {
	m.emit(Effect{Kind: DoRepost, ID: r.id, Child: i, To: in.From, Bits: r.bits, Token: in.Token})
}

// hurry shortens the wait for a child that was sent the list of members, or to which sending the request has failed. Such
// a child gets the request later than other children, and its timeout may include the time in which it fetches the list.
// But the parent of this node does not wait longer for that reason: at r.limit the module answers in the place of this
// node's service. So the wait for the child ends before r.limit, and the service can still answer.
func (m *Machine) hurry(r *request, c *child) {
	if (c.listed || c.tries > 0) && (c.state == waiting || c.state == retrying) && c.at != machine.Never && !r.root && !r.answered {
		c.at = max(min(c.at, r.limit-r.header.Guard), m.now+1)
	}
}

// hasJoined reports whether the child is known to have the group: it has answered a part, or has sent a Hold
// message since it was sent the list of members. If such a child still says that it does not know the group,
// it has answered a copy of the request.
func (c *child) hasJoined() bool { return c.listed && c.word > 0 || c.parts != 0 }

// rejected ends the wait for a child with the error that the child has reported for its whole subtree.
func (m *Machine) rejected(r *request, i int, s wire.Status) {
	c := &r.children[i]
	switch s {
	case wire.OK:
		s = wire.EPROTO
	case wire.EAHEAD:
		m.emit(Effect{Kind: WarnAhead, To: r.roster.NID(c.Rank), Status: s})
	}
	c.state = done
	r.pending--
	r.exposed = true
	m.emit(Effect{Kind: DoUnpost, ID: r.id, Child: i})
	r.miss(c, s)
	m.report(r, i, Effect{Status: s, Rank: c.Rank, Collective: true, Final: true})
}

// take accepts a part of the reply of a child's service. Parts may overtake each other, because
// networks do not order large and small messages.
func (m *Machine) take(r *request, i int, h *wire.ReplyHeader, in *Input) {
	c := &r.children[i]
	last := h.Flags&wire.ReplyLast != 0
	sound := h.Part < wire.MaxParts && (c.last < 0 || !last && h.Part <= uint32(c.last)) && (!last || c.parts>>h.Part>>1 == 0) &&
		len(in.Trailer) == int(h.Trailer)*wire.TrailerEntrySize && (last || h.Trailer == 0) &&
		in.Length == wire.ReplyHeaderSize+int(h.PayloadSize)+int(h.Carried)+len(in.Trailer)
	switch {
	case h.Part < wire.MaxParts && c.parts>>h.Part&1 != 0:
		m.stats.Stray++
		m.repost(r, i, in)
		return
	case sound && h.Speaks():
		sound = m.spoken(r, i, h, in)
	case sound:
		sound = m.merge(r, c, in.Trailer)
	}
	switch {
	case !sound:
		m.stats.BadReply++
		m.fail(r, i, wire.EPROTO)
		return
	case h.Speaks():
		return
	}
	r.keep(wire.Carried{Rank: uint32(c.Rank), Part: uint8(h.Part), Last: last, Size: h.PayloadSize}, in.Payload)
	c.parts |= 1 << h.Part
	if last {
		c.last = int8(h.Part)
	}
	complete := c.last >= 0 && bits.OnesCount64(c.parts) == int(c.last)+1
	if complete {
		c.state = done
		r.pending--
	}
	m.report(r, i, Effect{Status: wire.OK, Rank: c.Rank, Part: h.Part, Final: last, Length: uint64(h.PayloadSize)})
}

// gather ends the phase running once all children are done and all callbacks have returned. It
// withdraws the buffers to which children could still write (SC-50, SC-A16), and then calls
// post-reply.
func (m *Machine) gather(r *request) {
	if r.heldBelow { // the child that held the request may be done now
		m.relay(r)
	}
	waits := r.incoming == called && (r.awaitsItself() || r.repeated || r.bulk != wire.OK)
	if r.phase != running || r.pipe.loading || r.pending > 0 || r.calls > 0 || waits {
		return
	}
	if r.exposed && !r.withdrawn {
		r.phase, r.until = withdrawing, m.now+max(r.header.Guard/4, 1)
		m.emit(Effect{Kind: DoWithdraw, ID: r.id})
		m.schedule(r)
		return
	}
	m.postReply(r)
}

// withdrawn handles the end of DoWithdraw: no peer uses the request's buffers any more.
func (m *Machine) withdrawn(r *request) {
	r.withdrawn = true
	switch r.phase {
	case withdrawing:
		m.postReply(r)
	case closing:
		m.leave(r)
	}
}

// postReply calls the service's post-reply, or answers if there is none.
func (m *Machine) postReply(r *request) {
	if m.rest(r) {
		return
	}
	r.phase = posting
	switch {
	case r.header.Flags&wire.FlagModule == 0:
		r.post = called
		r.busy = r.exposed && !r.withdrawn
		if r.root && r.incoming == called {
			r.busy = true
			r.trailer = append(r.trailer, wire.Missing{Rank: uint32(r.rank), Status: r.abandoned, Scope: wire.Node})
		}
		e := Effect{Kind: CallPostReply, ID: r.id, Busy: r.busy}
		if r.root {
			e.Missing = m.appendMissing(r)
			e.Status = r.unsent
		}
		m.emit(e)
	case r.root:
		m.leave(r)
	case r.answered:
		m.settle(r)
	default:
		m.speak(r, wire.OK)
	}
	if r.phase == posting {
		m.schedule(r)
	}
}
