package engine

import (
	"slices"

	"ulnet/scoll/rmcast/wire"
)

// Without keys, any host on the network can multicast a datagram in the name of any origin,
// whereas a message that came by a connection is from the node at the other end. This member accepts
// the payload of a multicast datagram all the same, until a datagram that comes by a connection
// replaces it. But if the multicast datagram says something about messages that this member has not
// received, the member first asks the origin whether that is true.

// A member does not query the origin about what it expects: the first datagram of an origin has number 1, and
// a version begins after all datagrams that the member has acknowledged. When a message that the origin
// itself sent contradicts what others have said, the origin is believed, see confirm.

// past is a version that a stream has left. This member had, and has acknowledged or seen released,
// all datagrams of the version: those from base to end.
type past struct {
	roster    *roster
	base, end uint64
}

// doubts reports whether a multicast datagram, or a message of another member, makes a claim about the
// origin that only the origin can confirm. There are two such claims: that the origin has released
// messages which this member lacks, and that it has begun a later version, unless the version begins
// at the sequence number that this member expects (endsAt). If there is such a claim, doubts queries
// the origin over a connection.
func (s *stream) doubts(r *roster, stable uint64) bool {
	switch {
	case s.roster == nil && stable == 1:
		s.guessed = true
		return false
	case s.roster == nil:
	case r.version.Compare(s.roster.version) < 0:
		return false // the datagram is of an old version
	case s.roster == r && stable <= s.next, s.roster != r && s.endsAt(stable):
		return false
	}
	s.m.stats.Unproven++
	s.inquire(r)
	return true
}

// endsAt reports whether all messages that this member knows of end at a sequence number, and this
// member has acknowledged all of them.
func (s *stream) endsAt(seq uint64) bool {
	return seq == s.next && s.head == s.next && s.acknowledgedTo(seq) == seq
}

// inquire queries the origin about a version, at a limited rate.
func (s *stream) inquire(r *roster) {
	if s.doubtAt <= s.m.now {
		s.doubtAt = s.m.now + s.m.cfg.ReportInterval/8
		root := r.rankOf(s.origin.id.NID)
		s.m.tell(r, root, wire.Entry{Kind: wire.Query, Origin: r.number(root), Version: r.version, First: s.stable, Stable: s.stable})
	}
}

// leaveVersion records that the present version ended at a sequence number.
func (s *stream) leaveVersion(end uint64) {
	s.past = slices.DeleteFunc(s.past, func(p past) bool { return s.m.group.get(p.roster.version) != p.roster })
	if !s.lost && !s.isRoot() {
		s.past = append(s.past, past{s.roster, s.base, end})
	}
}

// leftVersion returns the datagrams that this member had in a version which the stream has left; ok is
// false if they are not known. If only others have said where the origin begins (guessed), this member
// had no datagrams in earlier versions.
func (s *stream) leftVersion(r *roster) (p past, ok bool) {
	if i := slices.IndexFunc(s.past, func(p past) bool { return p.roster == r }); i >= 0 {
		return s.past[i], true
	}
	return past{r, 1, 1}, s.guessed
}

// confirm compares what this member knows with the origin's own word on the version r: that the origin
// has released the datagrams below stable, and has sent those below end. If that shows that the origin
// is still in r although the stream has left r, the stream returns to r. The origin begins a new version
// only when nothing is in flight. So if it has datagrams in flight after the end of r that this member
// has recorded, it has not left r. A higher value of stable alone does not show that: an origin releases
// no datagram of r before this member has it, so those datagrams may belong to a later version.
func (s *stream) confirm(r *roster, stable, end uint64) {
	p, left := s.leftVersion(r)
	switch {
	case s.roster == nil || r.version.Compare(s.roster.version) > 0:
		return
	case s.roster == r && !(s.guessed && stable > s.next):
		s.guessed = false
		return
	case s.roster != r && (!left || end <= max(p.end, stable)):
		return
	case s.guessed && stable > p.end:
		p.base, p.end = stable, stable
	}
	s.guessed = false
	s.past = slices.DeleteFunc(s.past, func(p past) bool { return p.roster.version.Compare(r.version) >= 0 })
	s.begin(r, 0, p.base, p.end)
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
