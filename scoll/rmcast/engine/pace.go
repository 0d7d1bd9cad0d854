package engine

import (
	"slices"

	"ulnet/scoll/rmcast/wire"
)

// overhead is the memory, in bytes, that the system needs for a waiting datagram in addition to
// at most twice the datagram's size.
const overhead = 1024

// keptShare bounds how far repairs lower the limit: to this share of the initial limit, in per
// cent. Receivers have room for the initial limit, so losses have other reasons than lack of
// memory, and a lower limit would not reduce them.
const keptShare = 75

// start sets the limit of datagrams in flight so that bursts of all origins together fill at
// most half of the smallest receive memory (RM-A21).
func (p *sender) start(r *roster, origins int) {
	room := r.capacity / (2*(r.fragment+wire.HeaderSize) + overhead) / 2
	if r.capacity == 0 {
		room = r.window
	}
	origins = max(origins, 1)
	p.limit = min(max(room/origins, 1), r.window)
	p.least, p.most = max(p.limit*keptShare/100, 1), min(max(2*room/origins, 1), r.window)
	p.recover, p.earned, p.doubted = p.sent, 0, 0
}

// faster raises the limit by one datagram (additive increase). It does so each time that as
// many datagrams have been released since the last change as the limit allows.
func (p *sender) faster(released int) {
	if p.earned += released; p.earned >= p.limit {
		p.earned, p.limit = 0, min(p.limit+1, p.most)
	}
}

// slower halves the limit because of repairs, once for all datagrams that were in flight
// together (multiplicative decrease).
func (p *sender) slower(seq uint64, repairs int) {
	if seq >= p.recover {
		p.before, p.doubted = p.limit, 0
		p.limit, p.recover, p.earned = max(p.limit/2, p.least), p.sent, 0
	}
	p.doubted += repairs
}

// spurious records that a repair was needless. When all repairs for which the limit was halved
// were needless, the limit is restored (Eifel response, RFC 4015).
func (p *sender) spurious() {
	if p.doubted == 0 {
		return
	}
	if p.doubted--; p.doubted == 0 {
		p.limit = max(p.limit, min(p.before, p.most))
	}
}

// congested handles an acknowledgement's number of repairs, made at a child or below it, of datagrams from
// seq on. Only the origin acts on them: it lowers its limit of datagrams in flight.
func (s *stream) congested(seq uint64, e *wire.Entry) {
	if s.isRoot() && e.Repairs > 0 {
		s.m.sender.slower(seq, int(e.Repairs))
	}
}

// needless records that a datagram that was repaired, here or below, came by multicast as well.
// If the origin was told of the repair, it must be told that the repair was needless.
func (s *stream) needless(first, seq uint64) {
	s.m.stats.Needless++
	switch {
	case s.isRoot():
		s.m.sender.spurious()
	case seq < s.stable || s.inWindow(seq) && s.slot(first).complete && s.isConfirmed(first):
		e := s.entry(wire.Ack, first, s.fragments(first))
		e.Flags = wire.FlagAnswer | wire.FlagNeedless
		s.m.tell(s.roster, s.parent, e)
	case s.inWindow(seq) && s.slot(seq).repairs > 0:
		s.slot(seq).repairs--
	}
}

// fragments returns the number of datagrams of the message that begins at first; 1 if the
// message is unknown or released.
func (s *stream) fragments(first uint64) int {
	if s.inWindow(first) {
		return max(1, int(s.slot(first).count))
	}
	return 1
}

// isConfirmed reports whether this node has acknowledged a message to its parent.
func (s *stream) isConfirmed(first uint64) bool {
	return slices.ContainsFunc(s.confirmed, func(sp span) bool { return sp.first <= first && first < sp.end })
}

// active returns the number of origins that were heard within Silence, this node included.
func (m *Machine) active() int {
	n := 1
	for _, s := range m.streams {
		if s != m.sender.stream && m.now-s.heardAt < m.cfg.Silence && s.head > s.first {
			n++
		}
	}
	return n
}
