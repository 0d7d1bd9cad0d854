package engine

import (
	"ulnet/scoll/rmcast/wire"
)

// Without keys, any host on the network can multicast a datagram in the name of any origin,
// whereas a message that came by a connection is from the node at the other end. This member accepts
// the payload of a multicast datagram all the same, until a datagram that comes by a connection
// replaces it. But if the multicast datagram says something about messages that this member has not
// received, the member first asks the origin whether that is true.

// doubts reports whether a multicast datagram, or a message of another member, claims that the
// origin has released messages that this member lacks, or has begun a version at another sequence
// number than this member expects, or although this member owes an acknowledgement of the previous
// version. If so, it queries the origin over its connection.
func (s *stream) doubts(r *roster, stable uint64) bool {
	switch {
	case s.roster == nil || r.version.Compare(s.roster.version) < 0:
		return false // the stream is new, or the datagram is of an old version
	case s.roster == r && stable <= s.next, s.roster != r && stable == s.next && s.acknowledgedTo(stable) == stable:
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

// yields drops undelivered multicast data that contradicts a datagram from a connection. It
// reports whether the datagram then fits.
func (s *stream) yields(d *wire.Datagram) bool {
	first := d.Seq - uint64(d.Index)
	for seq := max(first, s.stable); seq < first+uint64(d.Count) && s.inWindow(seq); seq++ {
		sl := s.slot(seq)
		if !sl.have && sl.count == 0 {
			continue
		}
		other := seq // the first datagram of an overlapping message
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

// allCast reports whether every datagram of a message that is here came by multicast.
func (s *stream) allCast(first uint64, count uint16) bool {
	for i := range uint64(count) {
		if seq := first + i; s.inWindow(seq) && s.slot(seq).have && !s.slot(seq).cast {
			return false
		}
	}
	return true
}

// discard drops a message; its datagrams are missing again.
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

// discardAt drops a message that begins below a sequence number and ends above it.
func (s *stream) discardAt(end uint64) {
	for seq := end; s.inWindow(seq); seq++ {
		if sl := s.slot(seq); sl.have && seq-uint64(sl.index) < end {
			first := seq - uint64(sl.index)
			s.discard(first, s.slot(first).count)
			return
		}
	}
}
