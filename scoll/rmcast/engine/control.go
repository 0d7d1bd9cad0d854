package engine

import (
	"errors"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// control handles a control message of a member.
func (m *Machine) control(from nid.NID, b []byte) {
	group, known, entries, err := wire.ParseControl(b)
	switch {
	case errors.Is(err, wire.ErrVersion):
		m.otherVersion(from)
		return
	case err != nil:
		m.stats.Malformed++
		return
	case group != m.cfg.Group:
		m.stats.OtherGroup++
		return
	case m.chance(m.cfg.Faults.Acks):
		m.stats.Discarded++
		return
	}
	if latest := m.group.latest(); latest != nil && known.Compare(latest.version) > 0 {
		m.hold(Control, from, b, known, false)
		return
	}
	for len(entries) > 0 {
		var e wire.Entry
		if e, entries, err = wire.ParseEntry(entries); err != nil {
			m.stats.Malformed++
			continue
		}
		if r := m.roster(e.Version); r != nil {
			m.entry(r, from, &e)
		} else {
			m.holdEntry(from, &e)
		}
	}
}

func (m *Machine) entry(r *roster, from nid.NID, e *wire.Entry) {
	origin, sender := r.numbered(e.Origin), r.rankOf(from)
	switch {
	case r.self < 0:
		m.stats.NotMember++
		return
	case origin < 0 || sender < 0:
		m.stats.Stranger++
		return
	case e.Kind == wire.Expelled:
		m.leftOut()
		return
	case r.peers[sender].dead:
		m.stats.Departed++
		m.expel(r, sender)
		return
	case r.peers[origin].dead:
		m.stats.Departed++
		return
	}
	s := m.stream(r.peers[origin])
	if origin == r.self {
		m.ours(s, r, sender, e)
		return
	}
	switch {
	case sender == origin:
		s.confirm(r, e.Stable, e.First+uint64(e.Count))
	case s.roster != r && s.doubts(r, e.Stable):
		return
	}
	if !s.enterVersion(r, 0, e.Stable) {
		s.stale(r, sender, e)
		return
	}
	s.freeTo(s.stableFrom(sender, e.Stable, false))
	s.said(sender, e)
}

// stableFrom returns up to which number a message of sender may declare datagrams stable. The origin is believed if
// its message came over a connection. Messages of other members, and multicasts, which can be forged, only free what this
// member has acknowledged: no message of an honest node says more.
func (s *stream) stableFrom(sender int, stable uint64, cast bool) uint64 {
	if sender == s.root && !cast {
		return stable
	}
	return s.acknowledgedTo(stable)
}

// acknowledgedTo returns the end of the messages that end at a sequence number or before it, and
// whose acknowledgement was sent to the parent.
func (s *stream) acknowledgedTo(stable uint64) uint64 {
	end, seq := s.stable, min(stable, s.next)
	for _, sp := range s.up {
		seq = min(seq, sp.first)
	}
	for end < seq && s.slot(end).complete && end+uint64(s.slot(end).count) <= seq {
		end += uint64(s.slot(end).count)
	}
	return end
}

// ours handles an entry about this node's own messages.
func (m *Machine) ours(s *stream, r *roster, sender int, e *wire.Entry) {
	if s.roster != r {
		s.stale(r, sender, e)
		return
	}
	if e.Kind == wire.Ack && e.First+uint64(e.Count) > m.sender.sent {
		m.stats.Future++
		return
	}
	s.said(sender, e)
}

// stale answers questions about a version that the origin has left: all its messages have numbers below those
// of the present version, and are released. It ignores versions of which this node has heard nothing. If the
// question is about datagrams after the end of that version, stale queries the origin, because forged
// messages may have made this node believe that the origin has left the version.
func (s *stream) stale(r *roster, sender int, e *wire.Entry) {
	switch {
	case s.roster == nil || e.Kind != wire.Need && e.Kind != wire.Poll && e.Kind != wire.Query:
		return
	case r.version.Compare(s.roster.version) > 0:
		s.notBegun(r, sender, e)
		return
	}
	s.m.tell(r, sender, wire.Entry{Kind: wire.Stable, Origin: e.Origin, Version: e.Version, First: s.base, Stable: s.base})
	p, left := s.leftVersion(r)
	end := e.First + uint64(e.Count)
	if e.Kind == wire.Poll {
		s.ackReleased(r, sender, span{max(e.First, p.base), min(end, p.end)})
	}
	if left && end > p.end {
		s.inquire(r)
	}
}

// notBegun answers, at the origin, a query about a version that it has not begun: with the state of
// the present one.
func (s *stream) notBegun(r *roster, sender int, e *wire.Entry) {
	if e.Kind == wire.Query {
		at := s.roster.rankOf(r.peers[sender].id.NID)
		s.m.tell(s.roster, at, s.entry(wire.Stable, s.stable, int(s.sentHead()-s.stable)))
	}
}

// said handles an entry that has the stream's version.
func (s *stream) said(sender int, e *wire.Entry) {
	switch e.Kind {
	case wire.Ack:
		s.acked(sender, e)
	case wire.Pending:
		if k := s.child(sender); k != nil {
			s.isPending(k, e)
		}
	case wire.Need:
		s.needed(sender, e)
	case wire.Poll:
		s.polled(sender, e)
	case wire.Query:
		s.m.tell(s.roster, sender, s.entry(wire.Stable, s.stable, int(s.sentHead()-s.stable)))
	case wire.Stable:
		if s.isRoot() {
			return // only this node itself knows up to where it has sent
		}
		if sender == s.root {
			s.heard()
		}
		s.notice(e.First + uint64(e.Count))
	}
}

// sentHead returns the end of the datagrams that the origin has sent, as far as this node
// knows.
func (s *stream) sentHead() uint64 {
	if s.isRoot() {
		return s.m.sender.sent
	}
	return s.head
}

// acked handles the acknowledgement of a child (RM-5). If it is from a member below a failed child, this node
// knows of the failure already: the control message names the newest version that its sender knows, and this
// node has held the message back until it had that version.
func (s *stream) acked(sender int, e *wire.Entry) {
	k := s.child(sender)
	if k == nil {
		s.m.stats.Stray++
		return
	}
	end := e.First + uint64(e.Count)
	if !s.isRoot() {
		s.notice(end)
	}
	if e.Flags&wire.FlagNeedless != 0 {
		s.needless(e.First, e.First)
	}
	if end <= s.stable || e.First >= s.stable+uint64(len(s.slots)) {
		return
	}
	k.low = max(k.low, s.stable)
	from, end, news := max(e.First, s.stable), min(end, s.stable+uint64(len(s.slots))), uint64(0)
	if from <= k.low { // the child has acknowledged all datagrams before k.low already
		from = k.low
	}
	for seq := from; seq < end; seq++ {
		ks := k.slot(seq)
		if ks.acked {
			continue
		}
		if news == 0 {
			news = seq
			s.sampleAck(k, ks, seq, e)
		}
		s.sample(k, ks, seq)
		*ks = childSlot{acked: true, dueAt: ks.dueAt} // only this datagram is acknowledged: others of its message may be missing
	}
	for k.low < s.stable+uint64(len(s.slots)) && k.slot(k.low).acked {
		k.low++
	}
	if news != 0 {
		s.slot(news).repairs += min(e.Repairs, ^uint16(0)-s.slot(news).repairs)
		s.congested(news, e)
		s.checkRange(news, end)
	}
}

// checkRange checks the messages that overlap a range of the window.
func (s *stream) checkRange(from, end uint64) {
	for seq := from; seq < end; {
		first, ok := s.whole(seq)
		if !ok {
			seq++
			continue
		}
		count := uint64(s.slot(first).count)
		s.check(first) // do not use the slots below: check may free them
		seq = first + count
	}
}

// isPending records that a child has messages and waits for members below it. The first such
// entry for a message restarts the timeout of the child (RM-A20).
func (s *stream) isPending(k *child, e *wire.Entry) {
	k.waits = e.Member
	for seq := max(e.First, s.stable); seq < e.First+uint64(e.Count) && s.inWindow(seq); seq++ {
		ks := k.slot(seq)
		s.answered(ks)
		if ks.dueAt != 0 && !ks.pending {
			ks.dueAt = s.m.now + s.m.patience(k.depth, ks.tries)
			k.due = min(k.due, ks.dueAt)
		}
		ks.pending, ks.wants = !ks.acked, false
	}
	s.wantAt(k.due)
	if !s.isRoot() {
		s.notice(e.First + uint64(e.Count))
	}
}

// asked postpones this node's next request for a datagram, because the answer to a poll has just
// requested it.
func (s *stream) asked(seq uint64) {
	if seq < s.head {
		s.asking(s.slot(seq))
	}
}
