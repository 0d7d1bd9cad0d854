package engine

import (
	"slices"

	"ulnet/scoll/rmcast/wire"
)

// overhead is what a system takes for a datagram that waits, beside twice its size at
// most, in bytes.
const overhead = 1024

// keptShare is what repairs leave of the limit at the start, in per cent. Receivers have
// room for that, so that what is lost then is not lost for want of it, and the network
// would lose as much of less.
const keptShare = 75

// start sets the limit of datagrams in flight so that the bursts of all origins take
// half of the least room at a receiver (RM-A21).
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

// faster lets one datagram more be in flight for each limit of them that is released.
func (p *sender) faster(released int) {
	if p.earned += released; p.earned >= p.limit {
		p.earned, p.limit = 0, min(p.limit+1, p.most)
	}
}

// slower halves the limit because datagrams were repaired, once for all that were in
// flight together.
func (p *sender) slower(seq uint64, repairs int) {
	if seq >= p.recover {
		p.before, p.doubted = p.limit, 0
		p.limit, p.recover, p.earned = max(p.limit/2, p.least), p.sent, 0
	}
	p.doubted += repairs
}

// spurious takes note that a repair was needless. When all were for which the limit was
// halved, it was halved for nothing (Eifel response, RFC 4015).
func (p *sender) spurious() {
	if p.doubted == 0 {
		return
	}
	if p.doubted--; p.doubted == 0 {
		p.limit = max(p.limit, min(p.before, p.most))
	}
}

// congested takes note of repairs below that a child tells of, at the origin: of datagrams
// from seq on.
func (s *stream) congested(seq uint64, e *wire.Entry) {
	if s.isRoot() && e.Repairs > 0 {
		s.m.sender.slower(seq, int(e.Repairs))
	}
}

// needless takes note that a datagram that was repaired, here or below, came by multicast
// as well. The origin has to know if it has been told of the repair.
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

// fragments is how many datagrams the message has that begins with first; 1 if it is not
// known, or released.
func (s *stream) fragments(first uint64) int {
	if s.inWindow(first) {
		return max(1, int(s.slot(first).count))
	}
	return 1
}

// isConfirmed reports whether the parent was told that a message is here and below.
func (s *stream) isConfirmed(first uint64) bool {
	return slices.ContainsFunc(s.confirmed, func(sp span) bool { return sp.first <= first && first < sp.end })
}

// active counts the origins that were heard lately, this node included.
func (m *Machine) active() int {
	n := 1
	for _, s := range m.streams {
		if s != m.sender.stream && m.now-s.heardAt < m.cfg.Silence && s.head > s.first {
			n++
		}
	}
	return n
}
