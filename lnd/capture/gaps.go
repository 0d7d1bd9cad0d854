package capture

import (
	"slices"
	"time"

	"ulnet/lnd/capture/internal/headers"
)

// Bounds of the time for which segments wait for earlier bytes, local policy.
const (
	// reorderTimeout is how long segments wait for missing bytes if the acknowledgements of their receiver are not in
	// the capture. No acknowledgement is under way for that long.
	reorderTimeout = 2 * time.Second
	// If no acknowledgement of the receiver was captured for ackTimeout, its direction counts as missing in the
	// capture: kernel nodes probe an idle connection (keepalive) at least every 100 s.
	ackTimeout = 2 * time.Minute
	// queueTimeout is how much later than the acknowledgement of its bytes a segment is captured at most, because the
	// two directions come from different queues of a device.
	queueTimeout = time.Millisecond
	// roundTrip is for how long after a RST packets are captured that the other side sent before it got the RST. Later
	// ones show that it has ignored the RST.
	roundTrip = 200 * time.Millisecond
	// retransmitTimeout is how long a segment waits for missing bytes before it may be dropped as a stray one, see
	// beyond. In this time Linux retransmits missing bytes five times.
	retransmitTimeout = 10 * time.Second
	// largestGap is how many bytes of a stream are missing, or are captured before their acknowledgement, at most. Receive
	// windows are hardly larger.
	largestGap = 8 << 20
	// maxDue is for how many flows at the same time the dissector waits for queueTimeout. If there are more, it stops
	// waiting for the earliest ones.
	maxDue = 64
)

// acknowledged records that the receiver of a side's bytes has acknowledged all before the sequence number ack.
func (a *assembler) acknowledged(f *flow, side Side, ack uint32, answered bool) {
	s := &f.streams[side]
	s.acked, s.toldAt, s.told = ack, f.d.clock.now, true
	a.settle(f, side, answered)
}

// settle gives up bytes that the capture lacks, if their receiver has acknowledged them. It first waits for
// queueTimeout, because they may be captured late. If answered is true, data of the receiver are about to be handed
// out: then settle gives the bytes up at once, so that a request is reported before its answer.
func (a *assembler) settle(f *flow, side Side, answered bool) {
	s := &f.streams[side]
	for s.acknowledgedFirst() {
		if s.due == 0 {
			s.sure, s.due = s.acked, f.d.clock.now+queueTimeout
		}
		if answered {
			s.sure = s.acked
		} else if f.d.clock.now < s.due {
			f.d.listDue(f)
			return
		}
		s.moved, s.due = f.d.clock.now, 0
		for len(s.queue) > 0 && int32(s.sure-s.queue[0].seq) >= 0 {
			a.skip(f, side)
		}
	}
	s.due = 0
}

// acknowledgedFirst reports whether the receiver has acknowledged all bytes before the first waiting segment.
func (s *stream) acknowledgedFirst() bool {
	return s.told && len(s.queue) > 0 && int32(s.acked-s.queue[0].seq) >= 0
}

// listDue notes that f waits for queueTimeout.
func (d *Dissector) listDue(f *flow) {
	if !f.due {
		f.due, d.due = true, append(d.due, f)
	}
}

// settleDue gives up missing bytes on the flows that have waited for queueTimeout. The parameters are the segment tcp
// that is handled next, its flow, and its sender. If it has the next data of its side, these may answer a request on
// another connection between the two hosts. Then settleDue gives up the bytes on these connections at once, so that the
// request is reported first.
func (d *Dissector) settleDue(by *flow, from Side, tcp *headers.TCP) {
	src, dst := by.conn.Ends[from].Addr(), by.conn.Ends[from.Other()].Addr()
	answer := by.streams[from].goesOn(tcp)
	due := d.due
	d.due = due[:0]
	for i, f := range due {
		f.due = false
		if d.flows[f.key] != f {
			continue
		}
		for side := range f.streams {
			ends := &f.conn.Ends
			answered := len(due)-i > maxDue || answer && ends[side].Addr() == dst && ends[1-side].Addr() == src
			d.guard(f, func() { d.assembler.settle(f, Side(side), answered) })
		}
	}
	clear(due[len(d.due):])
}

// skip gives up the bytes that are missing before the first waiting segment, and delivers that segment.
func (a *assembler) skip(f *flow, side Side) {
	s := &f.streams[side]
	first := a.take(s)
	lost := int32(first.seq - s.next)
	s.gap = [2]uint32{s.next, first.seq}
	if len(first.b) > 0 {
		s.next = first.seq
	}
	a.deliver(f, side, int(lost), first)
}

// flush gives up missing bytes for which segments have waited too long. If end is set, no segment waits on.
func (a *assembler) flush(f *flow, end bool) {
	for _, side := range [2]Side{f.first.Other(), f.first} {
		for len(f.streams[side].queue) > 0 && a.flushFirst(f, side, end) {
		}
	}
}

// flushFirst handles the first waiting segment of a side for flush. It returns false if the segment waits on.
func (a *assembler) flushFirst(f *flow, side Side, end bool) bool {
	s, now := &f.streams[side], f.d.clock.now
	switch age := now - s.queue[0].since; {
	case (end || age >= retransmitTimeout) && s.heard(now) && (s.beyond(0, f.reachable(side)) || s.leftBehind(&s.queue[0])):
		a.discard(f, side, 0)
	case end, age >= reorderTimeout && !s.heard(now):
		a.skip(f, side)
	default:
		return false
	}
	return true
}

// heard reports whether the acknowledgements of the receiver are in the capture.
func (s *stream) heard(now time.Duration) bool { return s.told && now-s.toldAt < ackTimeout }

// beyond reports whether the waiting segment at i is a stray one, which is damaged or was sent by another node: more
// bytes are missing before it than fit into the receive window, and its receiver has not acknowledged them.
func (s *stream) beyond(i int, window int32) bool {
	from := s.next
	if i > 0 {
		from = s.queue[i-1].after()
	}
	seq := s.queue[i].seq
	return int32(seq-from) > window && int32(seq-s.acked) > 0
}

// leftBehind reports whether the waiting segment w is a stray one because the connection goes on without it: since w
// came, the stream has gone on with earlier bytes, but the latest acknowledgement, captured at least reorderTimeout
// after w, does not reach w.
func (s *stream) leftBehind(w *waiting) bool {
	return s.toldAt >= w.since+reorderTimeout && s.moved > w.since && int32(w.seq-s.acked) > 0
}

// discard drops and counts the waiting segment at i, which is a stray one.
func (a *assembler) discard(f *flow, side Side, i int) {
	s := &f.streams[side]
	f.d.counts.Outside++
	if i == 0 {
		a.take(s)
		return
	}
	a.count(s, -s.queue[i].pages())
	s.queue = slices.Delete(s.queue, i, i+1)
	s.fit()
}

// gaveUp reports whether a segment contains bytes of the gap that was given up last.
func (s *stream) gaveUp(seq uint32, b []byte) bool {
	return s.gap[0] != s.gap[1] && int32(seq-s.gap[1]) < 0 && int32(seq+uint32(len(b))-s.gap[0]) > 0
}

// makeRoom frees memory of a side for which too much waits. If there is a stray segment among those that wait, it drops
// the last one. Otherwise it gives up the first gap.
func (a *assembler) makeRoom(f *flow, side Side) {
	s := &f.streams[side]
	if s.heard(f.d.clock.now) {
		window := f.reachable(side)
		for i := range s.queue {
			if s.beyond(i, window) {
				a.discard(f, side, len(s.queue)-1)
				return
			}
		}
	}
	a.skip(f, side)
}
