package engine

import (
	"time"

	"ulnet/scoll/rmcast/wire"
)

// needed resends payload to a member that lacks it: to a child, or to a parent that lacks what
// its children have (RM-20). Datagrams that this node lacks too are sent when they arrive.
func (s *stream) needed(sender int, e *wire.Entry) {
	if e.First < s.stable {
		s.m.tell(s.roster, sender, s.entry(wire.Stable, s.stable, int(s.sentHead()-s.stable)))
	}
	if !s.isRoot() {
		s.notice(e.First + uint64(e.Count))
	}
	k := s.child(sender)
	for run := range runs(span{max(e.First, s.stable), min(e.First+uint64(e.Count), s.end())}, func(seq uint64) bool { return s.resends(k, seq) }) {
		s.repair(sender, run)
	}
}

// resends reports whether a datagram is to be sent again, to a child or, if k is nil, to another
// member. It is sent again at most once in half a round trip, even if several members request it
// many times.
func (s *stream) resends(k *child, seq uint64) bool {
	sl, at := s.slot(seq), time.Duration(0)
	if k != nil {
		ks := k.slot(seq)
		ks.polledAt = 0 // no RTT sample: the answer includes the grace period for which the child waited
		ks.wants = !sl.have
		at = ks.sentAt
	} else {
		at = sl.repairedAt
	}
	switch {
	case !sl.have:
		return false
	case at != 0 && s.m.now-at < s.m.rtt.estimate(&s.m.cfg)/2:
		s.m.stats.Repeated++
		return false
	case k == nil:
		sl.repairedAt = s.m.now
	default:
		k.slot(seq).pending = false
		s.resending(k, seq)
	}
	return true
}

// granted sends datagrams that have just arrived to the children that asked for them.
func (s *stream) granted(run span) {
	for _, k := range s.children {
		for run := range runs(run, func(seq uint64) bool { return k.slot(seq).wants }) {
			for seq := run.first; seq < run.end; seq++ {
				k.slot(seq).wants = false
				s.resending(k, seq)
			}
			s.repair(k.rank, run)
		}
	}
}

// polled tells the parent which of the datagrams in its poll this node has. A poll also shows that
// these datagrams were sent. This node requests those that it lacks after the grace period, not at
// once, as they may wait in the socket's buffer (RM-A5).
func (s *stream) polled(sender int, e *wire.Entry) {
	if !s.isRoot() {
		s.notice(e.First + uint64(e.Count))
	}
	s.answer(sender, e)
}

// answer tells a member which datagrams of a poll's range this node has. It also lists datagrams that this
// node lacks: all of them, if the poll has FlagAtOnce, otherwise only those that this node has already
// requested without success.
func (s *stream) answer(to int, poll *wire.Entry) {
	first := poll.First
	end := first + uint64(poll.Count)
	if first < s.stable {
		s.m.tell(s.roster, to, s.entry(wire.Stable, s.stable, 0))
		s.ackReleased(s.roster, to, span{max(first, s.base), min(end, s.stable)})
	}
	var run wire.Entry
	for seq := max(first, s.stable); seq < end && s.inWindow(seq); seq++ {
		kind := s.standing(seq)
		if kind == wire.Need {
			if poll.Kind != wire.Poll || poll.Flags&wire.FlagAtOnce == 0 && !s.askedInVain(s.slot(seq)) {
				continue
			}
			s.asked(seq)
		}
		if run.Kind == kind && run.First+uint64(run.Count) == seq {
			run.Count++
			continue
		}
		if run.Kind != 0 {
			s.m.tell(s.roster, to, run)
		}
		run = s.entry(kind, seq, 1)
		switch kind {
		case wire.Pending:
			run.Member = s.waitsFor(seq)
		case wire.Ack:
			run.Flags = wire.FlagAnswer
		}
	}
	if run.Kind != 0 {
		s.m.tell(s.roster, to, run)
	}
}

// ackReleased acknowledges datagrams that are released here already. The parent polls for them because it has
// not received the acknowledgement. It is not enough to tell the parent that the datagrams are stable,
// because the parent believes only the origin about that.
func (s *stream) ackReleased(r *roster, to int, what span) {
	if s.lost || s.isRoot() || what.first >= what.end {
		return
	}
	s.m.tell(r, to, wire.Entry{
		Kind: wire.Ack, Flags: wire.FlagAnswer, Origin: r.number(r.rankOf(s.origin.id.NID)), Version: r.version,
		First: what.first, Count: uint32(what.end - what.first), Stable: s.stable,
	})
}

// askedInVain reports whether a datagram was requested at least a round trip ago.
func (s *stream) askedInVain(sl *slot) bool {
	return sl.asked > 0 && s.m.now-sl.askedAt >= s.m.rtt.estimate(&s.m.cfg)
}

// standing is the state of a datagram at this node: Need, Pending or Ack.
func (s *stream) standing(seq uint64) wire.EntryKind {
	sl := s.slot(seq)
	if !sl.have {
		return wire.Need
	}
	if f := s.slot(seq - uint64(sl.index)); f.complete {
		return wire.Ack
	}
	return wire.Pending
}

// waitsFor returns the communication number of the member that keeps a datagram from being
// acknowledged here: a child, or the member that the child waits for.
func (s *stream) waitsFor(seq uint64) uint32 {
	for _, k := range s.children {
		ks := k.slot(seq)
		switch {
		case ks.acked:
		case ks.pending && k.waits != 0:
			return k.waits
		default:
			return s.roster.number(k.rank)
		}
	}
	return s.roster.number(s.roster.self)
}
