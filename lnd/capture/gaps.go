package capture

import (
	"slices"
	"time"
)

// Bounds of the time for which segments wait for earlier bytes, local policy.
const (
	reorderTimeout = 2 * time.Second
	// queueTimeout is how much later than the acknowledgement of its bytes a segment is captured at most, because the
	// two directions come from different queues of a device.
	queueTimeout = time.Millisecond
	// retransmitTimeout is how long segments wait for bytes that their receiver does not have either, as its
	// acknowledgements show. In this time Linux retransmits these bytes five times.
	retransmitTimeout = 10 * time.Second
	// largestGap is how many bytes of a stream are missing, or are captured before their acknowledgement, at most. Receive
	// windows are hardly larger.
	largestGap = 8 << 20
)

// acknowledged records that the receiver of a side's bytes has acknowledged all before the sequence number ack.
func (a *assembler) acknowledged(f *flow, side Side, ack uint32, answered bool) {
	s := &f.streams[side]
	s.acked, s.told = ack, f.d.at.Frame
	a.skipAcknowledged(f, side, answered)
}

// skipAcknowledged gives up bytes that the capture lacks although their receiver has acknowledged them. It waits
// for queueTimeout first. But if the acknowledgement came with data (answered), it gives them up at once, before
// those data are handed out, so that a request is reported before its answer.
func (a *assembler) skipAcknowledged(f *flow, side Side, answered bool) {
	for s := &f.streams[side]; s.acknowledgedFirst(); {
		first := &s.queue[0]
		if first.due == 0 {
			first.due = f.d.clock.now + queueTimeout
		}
		if !answered && f.d.clock.now < first.due {
			return
		}
		a.skip(f, side)
	}
}

// acknowledgedFirst reports whether the receiver has acknowledged all bytes before the first waiting segment.
func (s *stream) acknowledgedFirst() bool {
	return s.told > 0 && len(s.queue) > 0 && int32(s.acked-s.queue[0].seq) >= 0
}

// skip gives up the bytes that are missing before the first waiting segment, and delivers that segment.
func (a *assembler) skip(f *flow, side Side) {
	s := &f.streams[side]
	first := a.take(s)
	lost := int32(first.seq - s.next)
	s.gap = [2]uint32{s.next, first.seq}
	s.next = first.seq
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
	s := &f.streams[side]
	age := f.d.age(s.queue[0].since)
	switch lacks := s.lacks(&s.queue[0]); {
	case lacks && s.stray(&s.queue[0]) && (end || age >= retransmitTimeout):
		a.discard(f, side)
	case end, age >= retransmitTimeout, age >= reorderTimeout && !lacks:
		a.skip(f, side)
	default:
		return false
	}
	return true
}

// lacks reports whether the receiver does not have all bytes before w: in a packet that was captured after w, it
// acknowledged only earlier ones.
func (s *stream) lacks(w *waiting) bool { return s.told > w.at.Frame && int32(w.seq-s.acked) > 0 }

// stray is called for a segment w that waits for bytes which its receiver does not have either. It reports whether
// w is outside the receive window, because it is damaged or was sent by another node. That is so if the stream
// went on with bytes before w, or if w is too far ahead. Otherwise w may be genuine, and the capture may lack its
// acknowledgement as well.
func (s *stream) stray(w *waiting) bool {
	return s.next != w.gap || int32(w.seq-s.next) > largestGap
}

// discard drops and counts the first waiting segment, which is outside the receive window.
func (a *assembler) discard(f *flow, side Side) {
	s := &f.streams[side]
	a.take(s)
	f.d.counts.Outside++
	f.next[side] = s.reach()
}

// gaveUp reports whether a segment contains bytes of the gap that was given up last.
func (s *stream) gaveUp(seq uint32, b []byte) bool {
	return s.gap[0] != s.gap[1] && int32(seq-s.gap[1]) < 0 && int32(seq+uint32(len(b))-s.gap[0]) > 0
}

// reach returns the sequence number after the last byte that was captured.
func (s *stream) reach() uint32 {
	if n := len(s.queue); n > 0 {
		return s.queue[n-1].after()
	}
	return s.next
}

// makeRoom frees memory of a side for which too much waits. It gives up the first gap, unless that is larger than any
// receive window and the receiver has not acknowledged it: then the segments behind the gap are stray ones. The first
// segment, which shows that, remains.
func (a *assembler) makeRoom(f *flow, side Side) {
	s := &f.streams[side]
	if int32(s.queue[0].seq-s.next) <= largestGap || s.told == 0 || s.acknowledgedFirst() {
		a.skip(f, side)
		return
	}
	last := len(s.queue) - 1
	a.count(s, -s.queue[last].pages())
	f.d.counts.Outside++
	s.queue = slices.Delete(s.queue, last, last+1)
	s.fit()
	f.next[side] = s.reach()
}
