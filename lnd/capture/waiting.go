package capture

import (
	"bytes"
	"slices"
	"time"
)

// waiting is a segment behind a gap.
type waiting struct {
	seq   uint32
	b     []byte        // memory of its own, which no other segment shares
	end   bool          // a FIN or RST follows
	at    Stamp         // its packet
	since time.Duration // when it came, on the clock
}

func (w *waiting) after() uint32 { return w.seq + uint32(len(w.b)) }

// pages returns how many pages the segment counts as. That is a little more than the memory that it
// keeps alive.
func (w *waiting) pages() int { return 1 + cap(w.b)>>11 }

// part returns the bytes of w from one sequence number to another, as a segment with memory of its own,
// which does not keep the rest of w alive.
func (w *waiting) part(from, to uint32) waiting {
	return waiting{seq: from, b: bytes.Clone(w.b[from-w.seq : to-w.seq]), end: w.end && to == w.after(), at: w.at, since: w.since}
}

// keep keeps a copy of a segment until the bytes before it have come. If bytes came twice, it keeps those
// that came last. If too many bytes wait, it gives up missing bytes, the earliest ones first.
func (a *assembler) keep(f *flow, side Side, w waiting) {
	s := &f.streams[side]
	if w.after()-s.next > 1<<31-2*largestGap || len(w.b) == 0 && s.endWaits(w.seq) { // so far ahead that its sequence numbers cannot be compared, or a repeated FIN
		return
	}
	w.b, w.since = bytes.Clone(w.b), f.d.clock.now
	i, j := s.overlapped(&w)
	parts := w.among(s.queue[i:j])
	for k := range s.queue[i:j] {
		a.count(s, -s.queue[i+k].pages())
	}
	for k := range parts {
		a.count(s, parts[k].pages())
	}
	s.queue = slices.Replace(s.queue, i, j, parts...)
	s.fit()
	for len(s.queue) > 0 && (s.queued >= maxWaitingPerSide || a.waiting >= maxWaiting) {
		a.makeRoom(f, side)
	}
}

// endWaits reports whether a FIN or RST with the sequence number seq is among the waiting segments.
func (s *stream) endWaits(seq uint32) bool {
	return slices.ContainsFunc(s.queue, func(w waiting) bool { return w.end && w.after() == seq })
}

// overlapped returns the part [i:j] of the queue whose segments have bytes of w, too. If there are none,
// i and j are both the place at which to insert w.
func (s *stream) overlapped(w *waiting) (i, j int) {
	i, _ = slices.BinarySearchFunc(s.queue, w.seq, func(q waiting, seq uint32) int { return int(int32(q.after() - seq - 1)) })
	for j = i; j < len(s.queue) && int32(s.queue[j].seq-w.after()) < 0; {
		j++
	}
	return i, j
}

// among returns the segments that replace those in old, which overlap with w: first the bytes of
// old before w, if there are any, then w, then the bytes of old behind w.
func (w waiting) among(old []waiting) (parts []waiting) {
	if len(old) == 0 {
		return []waiting{w}
	}
	first, last := &old[0], &old[len(old)-1]
	if int32(first.seq-w.seq) < 0 {
		parts = append(parts, first.part(first.seq, w.seq))
	}
	behind := int32(last.after() - w.after())
	w.end = w.end || last.end && behind == 0
	if parts = append(parts, w); behind > 0 {
		parts = append(parts, last.part(w.after(), last.after()))
	}
	return parts
}

// count adds pages to the numbers of pages that wait: that of the stream, and that of all flows.
func (a *assembler) count(s *stream, pages int) {
	a.waiting += pages
	s.queued += pages
}

// fit makes the array of the queue smaller if most of it is unused.
func (s *stream) fit() {
	s.most = max(s.most, len(s.queue))
	if s.most > 2*len(s.queue) {
		s.queue, s.most = append([]waiting(nil), s.queue...), len(s.queue)
	}
}

// take removes the first segment of a queue and returns it.
func (a *assembler) take(s *stream) waiting {
	first := s.queue[0]
	s.queue[0] = waiting{} // the array must not keep its bytes alive
	s.queue = s.queue[1:]
	s.fit()
	a.count(s, -first.pages())
	return first
}

// drop empties a queue.
func (a *assembler) drop(s *stream) {
	a.count(s, -s.queued)
	s.queue, s.most = nil, 0
}
