package engine

import "ulnet/gossip/wire"

// header appends the header of a ping that uses this node's list.
func (m *Machine) header(b []byte) []byte { return m.headerFor(b, m.list, false, 0) }

// headerFor appends the header of a message that uses the given list. The header has parameters in each
// of three cases: in the node's first N cycles, not counting silent ones; while the list is being
// changed, by this node or by others; and if params is set.
func (m *Machine) headerFor(b []byte, list *List, params bool, flags wire.Flags) []byte {
	h := wire.Header{Flags: flags | m.signedFlag(), N: uint32(list.Len()), Clock: m.clock.value}
	if params || m.cycle <= m.stealth.last+uint64(m.list.Len()) || m.cycle <= m.params.ride || m.roll.other != nil {
		h.Flags |= wire.FlagParams
		h.Interval, h.Digest = m.cfg.Interval, list.Digest()
	}
	if m.roll.staged() || m.roll.committed && list != m.list {
		h.Flags |= wire.FlagStaged
		h.Staged = m.roll.newer(m).Digest()
	}
	return h.AppendTo(b)
}

// send appends a reply. Its data is out.Buf[from:].
func (m *Machine) send(msg *incoming, from int, out *Output) {
	m.queue(msg.from, true, from, out)
	m.stats.RepliesSent++
}

// emptyReply answers an obsolete ping with this node's clock alone.
func (m *Machine) emptyReply(msg *incoming, out *Output) {
	if m.stealth.silent || !msg.ping {
		return
	}
	from := len(out.Buf)
	out.Buf = m.headerFor(out.Buf, m.listOf(msg), msg.Flags&wire.FlagParams != 0, 0)
	m.send(msg, from, out)
}

// listOf returns the list that a message uses.
func (m *Machine) listOf(msg *incoming) *List {
	if msg.foreign != nil {
		return msg.foreign.list
	}
	return m.list
}

// reply answers a ping with the entries whose age here is lower than the sender's by at least
// two cycles and the fudge (gossip design, Gossip Reply).
func (m *Machine) reply(msg *incoming, out *Output) {
	if m.stealth.silent {
		return
	}
	mine := m.ages
	if msg.foreign != nil {
		mine = msg.foreign.render(m.ages)
	}
	count, gap := 0, 2+m.limits.Fudge
	mine.fresher(msg.body, gap, func(int, byte) { count++ })
	bitmap := (len(msg.body) + 7) / 8
	count = min(count, wire.MaxParticipants-bitmap)
	flags := wire.Flags(0)
	switch {
	case count == 0:
	case count*wire.PairSize < bitmap+count:
		flags = wire.FlagPairs
	default:
		flags = wire.FlagBitmap
	}
	from := len(out.Buf)
	out.Buf = m.headerFor(out.Buf, m.listOf(msg), msg.Flags&wire.FlagParams != 0, flags)
	switch flags {
	case wire.FlagPairs:
		mine.fresher(msg.body, gap, func(i int, age byte) {
			out.Buf = wire.AppendPair(out.Buf, i, age)
		})
	case wire.FlagBitmap:
		out.Buf = appendBitmap(out.Buf, bitmap, count, mine, msg.body, gap)
	}
	m.send(msg, from, out)
}

// appendBitmap appends a bitmap of the fresher entries, followed by their ages. It takes only
// the first ones, as many as count says, because a message has no room for more.
func appendBitmap(b []byte, size, count int, mine ageVector, peer []byte, gap int) []byte {
	start := len(b)
	for range size {
		b = append(b, 0)
	}
	mine.fresher(peer, gap, func(i int, age byte) {
		if len(b) < start+size+count {
			b[start+i/8] |= 1 << (i % 8)
			b = append(b, age)
		}
	})
	return b
}
