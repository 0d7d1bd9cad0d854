package engine

import (
	"ulnet/scoll/rmcast/wire"
)

// Without a key anybody on the network may have sent what comes by multicast, in the
// name of any origin; what comes by a connection is of the node at its other end. So a
// datagram by multicast is taken for a message that was sent, but not for what it says
// of messages that this member has not had: the origin is asked about that. And it
// makes way for what comes by a connection.

// doubts reports whether a datagram by multicast says that its origin has gone on
// without this member, or begun a version at another place than where this member is
// with it. Then the origin is asked, over its connection.
func (s *stream) doubts(r *roster, d *wire.Datagram) bool {
	switch {
	case s.roster == nil || r.version.Compare(s.roster.version) < 0:
		return false // nothing is known of it, or it does not count
	case s.roster == r && d.Stable <= s.next, s.roster != r && d.Stable == s.next:
		return false
	}
	s.m.stats.Unproven++
	if s.doubtAt <= s.m.now {
		s.doubtAt = s.m.now + s.m.cfg.ReportInterval/8
		root := r.rankOf(s.origin.id.NID)
		s.m.tell(r, root, wire.Entry{Kind: wire.Query, Origin: r.number(root), Version: r.version, First: s.stable, Stable: s.stable})
	}
	return true
}

// yields has what is here, and contradicts a datagram that came by a connection, make way
// for that: if it came by multicast, and was not delivered yet. It reports whether the
// datagram fits then.
func (s *stream) yields(d *wire.Datagram) bool {
	first := d.Seq - uint64(d.Index)
	for seq := max(first, s.stable); seq < first+uint64(d.Count) && s.inWindow(seq); seq++ {
		sl := s.slot(seq)
		if !sl.have && sl.count == 0 {
			continue
		}
		other := seq // the first of a message of which a later fragment is here, or
		if sl.have {
			other -= uint64(sl.index)
		}
		f := s.slot(other)
		if f.delivered || !s.allCast(other, f.count) {
			return false
		}
		s.discard(other, f.count)
	}
	return s.consistent(d)
}

// allCast reports whether all that is here of a message came by multicast.
func (s *stream) allCast(first uint64, count uint16) bool {
	for i := range uint64(count) {
		if seq := first + i; s.inWindow(seq) && s.slot(seq).have && !s.slot(seq).cast {
			return false
		}
	}
	return true
}

// discard forgets a message of which not all is here; it is lacking again.
func (s *stream) discard(first uint64, count uint16) {
	for i := range uint64(count) {
		seq := first + i
		if !s.inWindow(seq) {
			continue
		}
		askAt := s.slot(seq).askAt
		if seq < s.head && askAt == 0 {
			askAt = s.m.now + s.m.grace()
		}
		s.forget(s.slot(seq))
		s.slot(seq).askAt = askAt
		if askAt != 0 {
			s.askAt = min(s.askAt, askAt)
			s.wantAt(s.askAt)
		}
	}
}
