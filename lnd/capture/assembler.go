package capture

import (
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
	at     Stamp     // of the latest packet whose bytes were handed out
	gap    [2]uint32 // sequence numbers of the latest bytes that were given up: the first one, and that after the last one

	moved  time.Duration // when the stream last went on, on the clock: with bytes in order, or past missing bytes that the receiver has acknowledged
	told   bool          // the capture has acknowledgements of the other side, and acked is known
	acked  uint32        // the other side has all bytes before this sequence number
	toldAt time.Duration // when that was captured, on the clock
	due    time.Duration // when the missing bytes before the sequence number sure will be given up, on the clock; 0: none will
	sure   uint32
}

// segment takes a segment of a side, and hands what is in order to f.take. It hands out nothing that
// was handed out before.
func (a *assembler) segment(f *flow, side Side, tcp *headers.TCP) {
	if tcp.ACK && !tcp.RST {
		a.acknowledged(f, side.Other(), tcp.Ack, f.streams[side].goesOn(tcp))
	}
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
		if len(b) > 0 || end {
			a.keep(f, side, waiting{seq: seq, b: b, end: end, at: f.d.at})
			a.settle(f, side, false)
		}
		return
	}
	b = b[min(int(s.next-seq), len(b)):]
	if len(b) > 0 || end || tcp.SYN {
		s.moved = f.d.clock.now
		a.deliver(f, side, 0, waiting{b: b, end: end, at: f.d.at})
	}
	if tcp.FIN {
		s.next++
	}
}

// goesOn reports whether a segment has data or a FIN that are the next ones in order.
func (s *stream) goesOn(tcp *headers.TCP) bool {
	behind := int32(s.next - tcp.Seq)
	return (len(tcp.Payload) > 0 || tcp.FIN) && (!s.begun || behind >= 0 && (int(behind) < len(tcp.Payload) || tcp.FIN))
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
		} else if old < 0 && (len(tcp.Payload) > 0 || tcp.FIN || tcp.RST) {
			f.lossy, f.d.reordered = true, true
		}
	}
	return true
}

// deliver hands out the segment w, which begins at s.next, and then one by one the segments that waited for
// its bytes. It joins none, so it copies nothing, and the decoder sees where each captured segment
// begins.
func (a *assembler) deliver(f *flow, side Side, lost int, w waiting) {
	s := &f.streams[side]
	a.hand(f, side, lost, w)
	for !s.ended && len(s.queue) > 0 && int32(s.queue[0].seq-s.next) <= 0 {
		q := a.take(s)
		if old := int(s.next - q.seq); old < len(q.b) || old == len(q.b) && q.end {
			q.b = q.b[old:]
			a.hand(f, side, 0, q)
		}
	}
}

// hand passes the bytes of w, which begin at s.next, to f.take. Their stamp is that of the packet that
// completes the stream up to them.
func (a *assembler) hand(f *flow, side Side, lost int, w waiting) {
	s := &f.streams[side]
	s.next += uint32(len(w.b))
	if int32(s.next-s.acked) > f.reachable(side) {
		s.told = false // the capture lacks later acknowledgements
	}
	if w.at.Frame > s.at.Frame {
		s.at = w.at
	}
	if w.end {
		s.ended = true
		a.drop(s)
	}
	f.d.decoding = true // stays true if take panics: so guard sees that the panic is not the assembler's
	f.take(side, s.at, lost, w.b, w.end)
	f.d.decoding = false
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
