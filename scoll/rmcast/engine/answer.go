package engine

import (
	"ulnet/scoll/rmcast/wire"
)

// needed sends payload to a member that lacks it: a child, or a parent that missed
// what its children have (RM-20). What is not here follows when it is.
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
				s.lend(sender, seq, sl)
			}
			continue
		}
		ks := k.slot(seq)
		ks.polledAt = 0 // it has waited for the grace before it asked
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

// lend sends a datagram to a member that is no child: at most once in half a round trip,
// however many ask.
func (s *stream) lend(sender int, seq uint64, sl *slot) {
	if sl.lentAt != 0 && s.m.now-sl.lentAt < s.m.rtt.estimate(&s.m.cfg)/2 {
		s.m.stats.Repeated++
		return
	}
	sl.lentAt = s.m.now
	s.repair(sender, seq)
}

// granted sends a datagram that has just come to the children that asked for it.
func (s *stream) granted(seq uint64) {
	for _, k := range s.children {
		if ks := k.slot(seq); ks.wants {
			ks.wants = false
			s.repairChild(k, seq)
		}
	}
}

// polled answers which of the datagrams the parent asks about are here. It also
// tells this node of them: what was not known to have been sent is asked for after the
// grace, as it may wait in the system already (RM-A5).
func (s *stream) polled(sender int, e *wire.Entry) {
	if !s.isRoot() {
		s.notice(e.First + uint64(e.Count))
	}
	s.answer(sender, e)
}

// answer tells a member what this node has of the range of a poll and, if that does not
// leave it the grace, what it lacks. What was asked for in vain is asked for in any case.
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
			run.Who = s.waitsFor(seq)
		case wire.Ack:
			run.Flags = wire.FlagAnswer
		}
	}
	if run.Kind != 0 {
		s.m.tell(s.roster, to, run)
	}
}

// askedInVain reports whether a datagram was asked for and could be here.
func (s *stream) askedInVain(sl *slot) bool {
	return sl.asked > 0 && s.m.now-sl.askedAt >= s.m.rtt.estimate(&s.m.cfg)
}

// standing is how far this node is with a datagram: Need, Pending or Ack.
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

// waitsFor is the communication number of the member that a datagram waits for
// here: a child, or whom that waits for.
func (s *stream) waitsFor(seq uint64) uint32 {
	for _, k := range s.children {
		ks := k.slot(seq)
		switch {
		case ks.acked:
		case ks.pending && k.who != 0:
			return k.who
		default:
			return s.roster.number(k.rank)
		}
	}
	return s.roster.number(s.roster.self)
}
