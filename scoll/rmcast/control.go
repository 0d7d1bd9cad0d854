package rmcast

import "ulnet/lnet/nid"

// control takes what a member says.
func (m *Machine) control(from nid.NID, b []byte) {
	group, known, entries, err := ParseControl(b)
	switch {
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
		var e Entry
		if e, entries, err = ParseEntry(entries); err != nil {
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

func (m *Machine) entry(r *roster, from nid.NID, e *Entry) {
	origin, sender := r.numbered(e.Origin), r.rankOf(from)
	switch {
	case r.self < 0:
		m.stats.NotMember++
		return
	case origin < 0 || sender < 0:
		m.stats.Stranger++
		return
	case e.Kind == Expelled:
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
	if !s.enterVersion(r, 0, e.Stable) {
		s.stale(r, sender, e)
		return
	}
	s.freeTo(s.stableFrom(sender, e.Stable))
	s.said(sender, e)
}

// stableFrom is up to where a member's word on what is released counts: beyond what
// is delivered here, the origin's alone.
func (s *stream) stableFrom(sender int, stable uint64) uint64 {
	if sender == s.root {
		return stable
	}
	return min(stable, s.next)
}

// ours handles what is said of this node's own messages.
func (m *Machine) ours(s *stream, r *roster, sender int, e *Entry) {
	if s.roster != r {
		s.stale(r, sender, e)
		return
	}
	if e.Kind == Ack && e.First+uint64(e.Count) > m.sender.sent {
		m.stats.Future++
		return
	}
	s.said(sender, e)
}

// stale answers questions about a version that the origin has left, or that this
// node has heard nothing of.
func (s *stream) stale(r *roster, sender int, e *Entry) {
	if s.roster == nil || e.Kind != Need && e.Kind != Poll && e.Kind != Query {
		return
	}
	answer := Entry{Kind: Stable, Origin: e.Origin, Version: e.Version, First: s.stable, Stable: s.stable}
	if r.version.Compare(s.roster.version) < 0 {
		s.m.tell(r, sender, answer)
	}
}

// said handles an entry of the version that the stream is of.
func (s *stream) said(sender int, e *Entry) {
	switch e.Kind {
	case Ack:
		s.acked(sender, e)
	case Pending:
		if k := s.kid(sender); k != nil {
			s.isPending(k, e)
		}
	case Need:
		s.needed(sender, e)
	case Poll:
		s.polled(sender, e)
	case Query:
		s.m.tell(s.roster, sender, s.entry(Stable, s.stable, int(s.sentHead()-s.stable)))
	case Stable:
		if s.isRoot() {
			return // nobody else knows what this node has sent
		}
		if sender == s.root {
			s.heard()
		}
		s.notice(e.First + uint64(e.Count))
	}
}

// sentHead is above what was sent, as far as this node knows.
func (s *stream) sentHead() uint64 {
	if s.isRoot() {
		return s.m.sender.sent
	}
	return s.head
}

// acked takes the acknowledgement of a child (RM-5). One from below a child that has
// failed comes when that is known here: see control messages' version.
func (s *stream) acked(sender int, e *Entry) {
	k := s.kid(sender)
	if k == nil {
		s.m.stats.Stray++
		return
	}
	end := e.First + uint64(e.Count)
	if !s.isRoot() {
		s.notice(end)
	}
	if end <= s.stable || e.First >= s.stable+uint64(len(s.slots)) {
		return
	}
	from, end, news := max(e.First, s.stable), min(end, s.stable+uint64(len(s.slots))), false
	for seq := from; seq < end; seq++ {
		ks := k.slot(seq)
		if ks.acked {
			continue
		}
		news = true
		s.sample(k, ks, seq)
		*ks = kidSlot{acked: true}
	}
	if news {
		s.slot(from).repairs += e.Repairs
		s.congested(e)
		s.checkRange(from, end)
	}
}

// checkRange checks the messages that are, in part, in a range of the window.
func (s *stream) checkRange(from, end uint64) {
	for seq := from; seq < end; {
		first, ok := s.whole(seq)
		if !ok {
			seq++
			continue
		}
		count := uint64(s.slot(first).count)
		s.check(first) // it may free the slots
		seq = first + count
	}
}

// isPending notes that a child has messages and waits itself: it is asked from now
// on, and gets no payload (RM-A20).
func (s *stream) isPending(k *kid, e *Entry) {
	k.who = e.Who
	for seq := max(e.First, s.stable); seq < e.First+uint64(e.Count) && s.inWindow(seq); seq++ {
		ks := k.slot(seq)
		s.answered(ks)
		ks.pending, ks.wants = !ks.acked, false
	}
	if !s.isRoot() {
		s.notice(e.First + uint64(e.Count))
	}
}

// asked puts off asking for a datagram: this node just has.
func (s *stream) asked(seq uint64) {
	if sl := s.slot(seq); seq < s.head {
		sl.asked = min(sl.asked+1, 200)
		sl.askAt = s.m.now + s.m.patience(1, sl.asked)
		s.askAt = min(s.askAt, sl.askAt)
		s.wantAt(s.askAt)
	}
}
