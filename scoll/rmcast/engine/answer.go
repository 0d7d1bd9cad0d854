package engine

import (
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
	for seq := max(e.First, s.stable); seq < e.First+uint64(e.Count) && s.inWindow(seq); seq++ {
		sl := s.slot(seq)
		if k == nil {
			if sl.have {
				s.repairOther(sender, seq, sl)
			}
			continue
		}
		ks := k.slot(seq)
		ks.polledAt = 0 // the child waited for the grace period before it asked
		switch {
		case !sl.have:
			ks.wants = true
		case ks.sentAt != 0 && s.m.now-ks.sentAt < s.m.rtt.estimate(&s.m.cfg)/2:
			s.m.stats.Repeated++
		default:
			ks.pending = false
			s.repairChild(k, seq)
		}
	}
}

// repairOther resends a datagram to a member that is not a child, at most once in half a round
// trip, however many members ask.
func (s *stream) repairOther(sender int, seq uint64, sl *slot) {
	if sl.repairedAt != 0 && s.m.now-sl.repairedAt < s.m.rtt.estimate(&s.m.cfg)/2 {
		s.m.stats.Repeated++
		return
	}
	sl.repairedAt = s.m.now
	s.repair(sender, seq)
}

// granted sends a datagram that has just arrived to the children that asked for it.
func (s *stream) granted(seq uint64) {
	for _, k := range s.children {
		if ks := k.slot(seq); ks.wants {
			ks.wants = false
			s.repairChild(k, seq)
		}
	}
}

// polled tells the parent which of the datagrams in its poll this node has. The poll also says
// that they were sent. This node requests unknown ones after the grace period, as they may be
// in the socket's buffer already (RM-A5).
func (s *stream) polled(sender int, e *wire.Entry) {
	if !s.isRoot() {
		s.notice(e.First + uint64(e.Count))
	}
	s.answer(sender, e)
}

// answer tells a member which datagrams of a poll's range this node has. If the poll asks for
// missing ones, the answer also lists those that this node lacks. Without that it lists only
// those that this node has already requested without success.
func (s *stream) answer(to int, poll *wire.Entry) {
	first := poll.First
	end := first + uint64(poll.Count)
	if first < s.stable {
		s.m.tell(s.roster, to, s.entry(wire.Stable, s.stable, 0))
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
