package capture

import (
	"bytes"
	"slices"
	"time"

	"ulnet/lnd/capture/internal/headers"
)

// Bounds of what waits for earlier bytes, local policy, in pages of 2 KiB.
const (
	maxWaitingPerSide = 4096
	maxWaiting        = 16384
)

// assembler puts the bytes of all flows in order.
type assembler struct{ waiting int } // pages of all flows that wait for earlier bytes

// stream is one direction of a flow. Its sequence numbers are compared modulo 2^32.
type stream struct {
	next   uint32    // sequence number of the next byte in order
	begun  bool      // next is known
	ended  bool      // a FIN or RST has come, and all bytes before it
	queue  []waiting // segments behind a gap, in their order, without overlaps
	queued int       // pages of the queue
	most   int       // largest length of the queue since its array was made
}

// waiting is a segment behind a gap.
type waiting struct {
	seq  uint32
	b    []byte // memory of its own, which no other segment shares
	end  bool   // a FIN or RST follows
	seen time.Time
}

func (w *waiting) after() uint32 { return w.seq + uint32(len(w.b)) }

// pages returns how many pages the segment counts as. That is a little more than the memory that it
// keeps alive.
func (w *waiting) pages() int { return 1 + cap(w.b)>>11 }

// part returns the bytes of w from one sequence number to another, as a segment with memory of its own,
// which does not keep the rest of w alive.
func (w *waiting) part(from, to uint32) waiting {
	return waiting{seq: from, b: bytes.Clone(w.b[from-w.seq : to-w.seq]), end: w.end && to == w.after(), seen: w.seen}
}

// segment takes a segment of a side, and hands what is in order to f.take. It hands out nothing that
// was handed out before.
func (a *assembler) segment(f *flow, side Side, tcp *headers.TCP) {
	s := &f.streams[side]
	if !f.accept(s, tcp) || s.ended {
		return
	}
	seq, b, end := tcp.Seq, tcp.Payload, tcp.FIN || tcp.RST
	if !s.begun {
		s.next, s.begun = seq, true
		if tcp.SYN {
			seq++
			s.next = seq
		}
	}
	if int32(seq-s.next) > 0 {
		a.keep(f, side, waiting{seq, b, end, f.d.at.Time})
		return
	}
	b = b[min(int(s.next-seq), len(b)):]
	if len(b) > 0 || end || tcp.SYN {
		a.deliver(f, side, 0, b, end)
	}
	if tcp.FIN {
		s.next++
	}
}

// accept reports whether a segment is to be processed. It cuts off bytes that were seen before. A capture
// may begin in mid-stream: then bare ACKs do not begin the stream, and the decoder looks for a message.
func (f *flow) accept(s *stream, tcp *headers.TCP) bool {
	switch {
	case f.ending && s.begun:
		tcp.Seq = s.next
	case !s.begun && !tcp.SYN && !f.ending:
		return len(tcp.Payload) > 0 || tcp.FIN || tcp.RST
	case s.begun && !tcp.SYN:
		old := int32(s.next - tcp.Seq)
		if old > 0 {
			n := min(int(old), len(tcp.Payload))
			tcp.Payload, tcp.Seq = tcp.Payload[n:], tcp.Seq+uint32(n)
			f.old = len(tcp.Payload) == 0
		} else if old < 0 && len(tcp.Payload) > 0 {
			f.lossy, f.d.reordered = true, true
		}
	}
	return true
}

// keep keeps a copy of a segment until the bytes before it have come. If bytes came twice, it keeps those
// that came last. If too many bytes wait, it gives up missing bytes, the earliest ones first.
func (a *assembler) keep(f *flow, side Side, w waiting) {
	s := &f.streams[side]
	if len(w.b) == 0 || int32(w.after()-s.next) < 0 { // nothing to keep, or so far ahead that its sequence numbers cannot be compared
		return
	}
	w.b = bytes.Clone(w.b)
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
		a.skip(f, side)
	}
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

// skip gives up the bytes that are missing before the first waiting segment, and delivers that segment.
func (a *assembler) skip(f *flow, side Side) {
	s := &f.streams[side]
	first := a.take(s)
	lost := int32(first.seq - s.next)
	s.next = first.seq
	a.deliver(f, side, int(lost), first.b, first.end)
}

// deliver hands out the bytes b, which begin at s.next, and then one by one the segments that waited for
// these bytes. It joins none, so it copies nothing, and the decoder sees where each captured segment
// begins.
func (a *assembler) deliver(f *flow, side Side, lost int, b []byte, end bool) {
	s := &f.streams[side]
	a.hand(f, side, lost, b, end)
	for !s.ended && len(s.queue) > 0 && int32(s.queue[0].seq-s.next) <= 0 {
		q := a.take(s)
		if old := int(s.next - q.seq); old < len(q.b) || old == len(q.b) && q.end {
			a.hand(f, side, 0, q.b[old:], q.end)
		}
	}
}

// hand passes the bytes b, which begin at s.next, to f.take.
func (a *assembler) hand(f *flow, side Side, lost int, b []byte, end bool) {
	s := &f.streams[side]
	s.next += uint32(len(b))
	if end {
		s.ended = true
		a.drop(s)
	}
	f.d.decoding = true // stays true if take panics: so guard sees that the panic is not the assembler's
	f.take(side, lost, b, end)
	f.d.decoding = false
}

// flush gives up missing bytes if segments captured before the instant t wait for them.
func (a *assembler) flush(f *flow, t time.Time) {
	for _, side := range [2]Side{f.first.Other(), f.first} {
		for s := &f.streams[side]; len(s.queue) > 0 && s.queue[0].seen.Before(t); {
			a.skip(f, side)
		}
	}
}

// forget drops all waiting segments of a flow.
func (a *assembler) forget(f *flow) {
	for side := range f.streams {
		a.drop(&f.streams[side])
	}
}

// guard runs call, which uses the assembler. It recovers from panics of the assembler, which must not
// end the dissection of other connections, but not from panics of the decoder or of the caller's emit
// inside the assembler.
func (d *Dissector) guard(f *flow, call func()) {
	defer func() {
		why := recover()
		if why == nil {
			return
		}
		if d.decoding {
			panic(why)
		}
		d.counts.Broken++
		if f != nil {
			f.broken = true
		}
	}()
	call()
}
