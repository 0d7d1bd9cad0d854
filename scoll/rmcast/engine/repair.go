package engine

import (
	"time"

	"ulnet/lnet/machine"
	"ulnet/scoll/rmcast/wire"
)

// tick handles the deadlines of a stream that have passed.
func (s *stream) tick() {
	now := s.m.now
	s.due = machine.Never
	if s.ackAt <= now {
		s.m.dirty(s)
	} else {
		s.due = min(s.due, s.ackAt)
	}
	for _, k := range s.children {
		if k.due <= now {
			s.overdue(k)
		}
		s.due = min(s.due, k.due)
	}
	if s.askAt <= now {
		s.ask()
	}
	if s.queryAt <= now {
		s.query()
	}
	s.due = min(s.due, s.askAt, s.queryAt)
}

// overdue polls a child about the messages that it has not acknowledged in time.
func (s *stream) overdue(k *child) {
	k.due = machine.Never
	var run span
	for seq, f := range s.delivered() {
		if ks := k.slot(seq); !s.childHas(k, seq, f.count) {
			if ks.dueAt <= s.m.now {
				s.late(k, seq, f)
				if run.end != seq {
					s.poll(k.rank, run, 0)
					run.first = seq
				}
				run.end = seq + uint64(f.count)
			}
			k.due = min(k.due, ks.dueAt)
		}
	}
	s.poll(k.rank, run, 0)
}

// childHas reports whether a child has acknowledged a whole message.
func (s *stream) childHas(k *child, first uint64, count uint16) bool {
	for i := range uint64(count) {
		if !k.slot(first + i).acked {
			return false
		}
	}
	return true
}

// late records that a child is polled about a message that it has not acknowledged in time.
// This member resends the payload only if the child then reports that it lacks the payload
// (RM-19), because on busy hosts nearly all late children have it. The parent is told that this
// member waits, so that the parent does not resend the payload as well (RM-A20).
func (s *stream) late(k *child, first uint64, f *slot) {
	ks := k.slot(first)
	ks.tries = min(ks.tries+1, 200)
	if ks.polledAt == 0 {
		ks.polledAt = s.m.now
	} else {
		ks.polledAt = -1
	}
	ks.dueAt = s.m.now + s.m.patience(k.depth, ks.tries)
	if ks.tries == suspectAfter { // a suspect is reported once; the member continues to poll it (RM-A4)
		s.m.emit(Effect{Kind: Suspect, Origin: s.origin.id, Member: s.roster.peers[k.rank].id, Seq: first})
	}
	if !s.isRoot() && !f.told {
		f.told = true
		e := s.entry(wire.Pending, first, int(f.count))
		e.Member = s.waitsFor(first)
		s.m.tell(s.roster, s.parent, e)
	}
}

// answered records that a child has answered a poll for a datagram. Karn's algorithm: it takes
// no RTT sample after a repeated poll, since the answer may belong to either poll.
func (s *stream) answered(ks *childSlot) {
	if ks.polledAt > 0 {
		s.m.rtt.sample(s.m.now - ks.polledAt)
	}
	ks.polledAt = 0
}

func (s *stream) poll(rank int, what span, flags wire.EntryFlags) {
	if what.end > what.first {
		s.m.stats.Polls++
		e := s.entry(wire.Poll, what.first, int(what.end-what.first))
		e.Flags = flags
		s.m.tell(s.roster, rank, e)
	}
}

// resending records that a datagram is resent to a child.
func (s *stream) resending(k *child, seq uint64) {
	k.slot(seq).sentAt = s.m.now
	if first := seq - uint64(s.slot(seq).index); s.slot(first).delivered {
		ks := k.slot(first)
		ks.dueAt = s.m.now + s.m.patience(k.depth, ks.tries)
		k.due = min(k.due, ks.dueAt)
		s.wantAt(k.due)
	}
}

// repair resends datagrams to one member, over its connection.
func (s *stream) repair(rank int, run span) {
	s.m.stats.Repairs += uint64(s.send(rank, run, wire.FlagRepair))
}

// forward sends datagrams down the tree, if there is no multicast.
func (s *stream) forward(k *child, what span, flags wire.DatagramFlags) {
	for run := range runs(what, func(seq uint64) bool { return !k.slot(seq).acked }) {
		s.send(k.rank, run, flags)
	}
}

// ask requests missing datagrams (RM-20) from the children that have them and from the parent,
// in turn.
func (s *stream) ask() {
	s.askAt = machine.Never
	var run wire.Entry
	to := -1
	for seq := s.next; seq < s.head && s.inWindow(seq); seq++ {
		sl := s.slot(seq)
		if sl.have || sl.askAt == 0 {
			continue
		}
		if sl.askAt <= s.m.now && !s.mayAsk(seq, sl) {
			sl.askAt = sl.noticedAt + s.m.longestGrace()
		} else if sl.askAt <= s.m.now {
			from := s.source(seq, sl)
			s.asking(sl)
			if from == to && run.First+uint64(run.Count) == seq {
				run.Count++
			} else {
				s.fetch(to, run)
				to, run = from, s.entry(wire.Need, seq, 1)
			}
		}
		s.askAt = min(s.askAt, sl.askAt)
	}
	s.fetch(to, run)
}

// mayAsk reports whether a missing datagram may be requested now. Missing datagrams may only be
// late. Of these the member requests one; it requests the others after multicast goes on, or
// after longestGrace. So a member whose socket is not read for a while receives one superfluous
// payload instead of a whole window of them.
func (s *stream) mayAsk(seq uint64, sl *slot) bool {
	switch {
	case seq < s.castTo || sl.asked > 0 || s.repairs >= deafAfter:
	case s.m.now >= sl.noticedAt+s.m.longestGrace():
	case s.probed:
		return false
	default:
		s.probed = true
	}
	return true
}

// asking records a request for a datagram, and sets the time of the next one.
func (s *stream) asking(sl *slot) {
	sl.asked, sl.askedAt = min(sl.asked+1, 200), s.m.now
	sl.askAt = s.m.now + s.m.patience(1, sl.asked)
	s.askAt = min(s.askAt, sl.askAt)
	s.wantAt(s.askAt)
}

func (s *stream) fetch(from int, run wire.Entry) {
	if run.Count > 0 {
		s.m.stats.Fetches++
		s.m.tell(s.roster, from, run)
	}
}

// source returns the rank of the member from which to request a datagram.
func (s *stream) source(seq uint64, sl *slot) int {
	n := 1
	for _, k := range s.children {
		if k.slot(seq).acked {
			n++
		}
	}
	turn := int(sl.asked) % n
	for _, k := range s.children {
		if !k.slot(seq).acked {
			continue
		}
		if turn == 0 {
			return k.rank
		}
		turn--
	}
	return s.parent
}

// query asks a silent origin up to where its messages are stable, if this member could then
// free any (RM-A6).
func (s *stream) query() {
	s.queryAt = machine.Never
	if s.isRoot() || s.stable == s.head {
		return
	}
	s.queryAt = s.m.now + s.m.cfg.Silence
	s.m.tell(s.roster, s.root, s.entry(wire.Query, s.stable, 0))
}

// patience is the timeout for a child whose subtree has depth levels, after a number of
// expiries (RM-A4, RM-18). It is the longer of two times: a round trip and a guard per level,
// and the time in which nearly all such children have acknowledged. It doubles with each
// expiry.
func (m *Machine) patience(depth int, tries uint8) time.Duration {
	rtt := m.rtt.estimate(&m.cfg)
	guard := max(rtt/4, m.cfg.Guard)
	patience := time.Duration(depth) * (rtt + m.cfg.AckDelay + guard)
	patience = max(patience, min(m.acks[min(depth, maxLevels-1)].spread(), maxSpread))
	return max(patience, min(patience<<min(tries, maxBackoff), maxPatience))
}
