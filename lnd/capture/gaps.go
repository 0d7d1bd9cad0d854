package capture

import "time"

// acknowledged notes that a side has been told that all its bytes before the sequence number ack have arrived.
func (a *assembler) acknowledged(f *flow, side Side, ack uint32) {
	s := &f.streams[side]
	s.acked, s.acks = ack, true
	a.skipAcknowledged(f, side)
}

// skipAcknowledged gives up bytes that the receiver has and the capture lacks. It runs before the receiver's
// next message is handed out, so that no answer comes before its request.
func (a *assembler) skipAcknowledged(f *flow, side Side) {
	for s := &f.streams[side]; s.acks && len(s.queue) > 0 && int32(s.acked-s.queue[0].seq) >= 0; {
		a.skip(f, side)
	}
}

// skip gives up the bytes that are missing before the first waiting segment, and delivers that segment.
func (a *assembler) skip(f *flow, side Side) {
	s := &f.streams[side]
	first := a.take(s)
	lost := int32(first.seq - s.next)
	s.next = first.seq
	a.deliver(f, side, int(lost), first)
}

// flush gives up missing bytes if segments captured before the instant t wait for them.
func (a *assembler) flush(f *flow, t time.Time) {
	for _, side := range [2]Side{f.first.Other(), f.first} {
		for s := &f.streams[side]; len(s.queue) > 0 && s.queue[0].at.Time.Before(t); {
			a.skip(f, side)
		}
	}
}
