package capture

import (
	"time"

	"ulnet/lnd/capture/internal/headers"
)

// Bounds within which a packet is a copy of one that was captured before, local policy.
const (
	maxRecent = 64                    // how many segments of a side are remembered
	copyTime  = time.Second           // longest time between a packet and its copy
	soon      = 50 * time.Microsecond // longest such time for packets without an identification: any retransmission takes longer
)

// recent remembers the latest segments with data of a side, so that a copy of one is not taken for a
// retransmission.
type recent struct {
	list []sent // a ring of maxRecent at most
	next int    // place of the next segment
}

// sent is a segment that was captured.
type sent struct {
	from, to uint32 // sequence numbers
	at       uint32 // when it was captured, by the clock of the capture, in microseconds
	id       uint16 // identification of IPv4
}

// isCopy reports whether a segment is a copy of a packet that was captured already: a host with a bond, a bridge
// or VLANs captures each packet at each device on its way. A copy has the IP identification of that packet, and a
// retransmission has another one. Without an identification, as in IPv6, a segment counts as a copy if it comes
// sooner than any retransmission could.
func (f *flow) isCopy(side Side, id uint16, late bool, tcp *headers.TCP) bool {
	if len(tcp.Payload) == 0 {
		return false
	}
	r, now := &f.recent[side], f.d.clock.now
	w := sent{tcp.Seq, tcp.Seq + uint32(len(tcp.Payload)), uint32(now / time.Microsecond), id}
	if late && r.has(&w) {
		return true
	}
	if len(r.list) < maxRecent {
		r.list = append(r.list, w)
	} else {
		r.list[r.next] = w
		r.next = (r.next + 1) % maxRecent
	}
	return false
}

// has reports whether w is a copy of a segment that r remembers.
func (r *recent) has(w *sent) bool {
	limit := copyTime
	if w.id == 0 {
		limit = soon
	}
	for i := range r.list {
		s := &r.list[i]
		if time.Duration(w.at-s.at)*time.Microsecond <= limit && (w.id == 0) == (s.id == 0) && w.within(s) {
			return true
		}
	}
	return false
}

// within reports whether w is a copy of s or of a part of it. A network device (TSO) divides a segment that is
// larger than a packet into parts of one size; the last one may be smaller. The parts have consecutive
// identifications, which begin with that of the segment.
func (w *sent) within(s *sent) bool {
	part, before, size := uint32(w.id-s.id), w.from-s.from, w.to-w.from
	switch {
	case before > s.to-s.from || w.to-s.from > s.to-s.from:
		return false
	case part == 0 && w.id != 0:
		return before == 0
	case w.id == 0:
		return true
	}
	return before%part == 0 && (size == before/part || w.to == s.to && size < before/part)
}
