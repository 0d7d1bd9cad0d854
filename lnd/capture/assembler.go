package capture

import (
	"bytes"
	"slices"
	"time"

	"ulnet/lnd/capture/internal/headers"
)

// Bounds of what waits for earlier bytes, local policy, in pages: a segment takes one for each 2 KiB
// begun.
const (
	maxWaitingPerSide = 4096
	maxWaiting        = 16384
)

// assembler puts the bytes of all flows in order.
type assembler struct{ waiting int } // pages that wait, of all flows

// stream is one direction of a flow. Its sequence numbers are compared modulo 2^32.
type stream struct {
	next   uint32    // sequence number after that of the last byte in order
	begun  bool      // next is known
	ended  bool      // a FIN or RST was in order
	queue  []waiting // segments behind a gap, in their order, without overlaps
	queued int       // pages of the queue
}

// waiting is a segment behind a gap.
type waiting struct {
	seq  uint32
	b    []byte
	end  bool // a FIN or RST follows
	seen time.Time
}

func (w *waiting) after() uint32 { return w.seq + uint32(len(w.b)) }

// pages returns what the segment counts for the bounds.
func (w *waiting) pages() int { return 1 + len(w.b)>>11 }

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

// accept reports whether a segment counts. It cuts off what was seen before. A capture may begin in
// mid-stream; the decoder then looks for a message.
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

// keep keeps a copy of a segment until the bytes before it have come. Of bytes that came twice it
// keeps the later ones. If too much waits, it gives up the bytes that are missing first.
func (a *assembler) keep(f *flow, side Side, w waiting) {
	if len(w.b) == 0 {
		return
	}
	w.b = bytes.Clone(w.b)
	s := &f.streams[side]
	i, _ := slices.BinarySearchFunc(s.queue, w.seq, func(q waiting, seq uint32) int { return int(int32(q.after() - seq - 1)) })
	j := i
	var parts []waiting // of what w overlaps, with w itself
	for ; j < len(s.queue) && int32(s.queue[j].seq-w.after()) < 0; j++ {
		a.count(s, -s.queue[j].pages())
	}
	if i < j && int32(s.queue[i].seq-w.seq) < 0 {
		head := s.queue[i]
		head.b, head.end = head.b[:w.seq-head.seq], false
		parts = append(parts, head)
	}
	parts = append(parts, w)
	if i < j {
		tail := s.queue[j-1]
		if over := w.after() - tail.seq; int32(tail.after()-w.after()) > 0 {
			tail.seq, tail.b = w.after(), tail.b[over:]
			parts = append(parts, tail)
		}
	}
	for i := range parts {
		a.count(s, parts[i].pages())
	}
	s.queue = slices.Replace(s.queue, i, j, parts...)
	if s.queued >= maxWaitingPerSide || a.waiting >= maxWaiting {
		a.skip(f, side)
	}
}

// count adds pages to what waits.
func (a *assembler) count(s *stream, pages int) {
	a.waiting += pages
	s.queued += pages
}

// take takes the first segment out of a queue.
func (a *assembler) take(s *stream) waiting {
	first := s.queue[0]
	s.queue = s.queue[1:]
	a.count(s, -first.pages())
	return first
}

// drop empties a queue.
func (a *assembler) drop(s *stream) {
	a.count(s, -s.queued)
	s.queue = nil
}

// skip gives up the bytes before the first segment that waits.
func (a *assembler) skip(f *flow, side Side) {
	s := &f.streams[side]
	first := a.take(s)
	lost := int32(first.seq - s.next)
	s.next = first.seq
	a.deliver(f, side, int(lost), first.b, first.end)
}

// deliver hands out bytes that begin at s.next, and what waited for them, segment by segment: it
// copies nothing, and a segment that was captured begins one for the decoder.
func (a *assembler) deliver(f *flow, side Side, lost int, b []byte, end bool) {
	s := &f.streams[side]
	a.hand(f, side, lost, b, end)
	for !s.ended && len(s.queue) > 0 && int32(s.queue[0].seq-s.next) <= 0 {
		q := a.take(s)
		if old := int(s.next - q.seq); old < len(q.b) {
			a.hand(f, side, 0, q.b[old:], q.end)
		}
	}
}

// hand hands out bytes that begin at s.next.
func (a *assembler) hand(f *flow, side Side, lost int, b []byte, end bool) {
	s := &f.streams[side]
	s.next += uint32(len(b))
	if end {
		s.ended = true
		a.drop(s)
	}
	f.d.decoding = true // stays true after a panic, because the reset below is not deferred
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

// forget drops what waits.
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
