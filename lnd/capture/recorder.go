package capture

import (
	"io"
	"time"

	"ulnet/lnd/capture/internal/headers"
)

// maxSegment is the longest piece of payload in one recorded packet. It leaves room for
// headers below the 64 KiB of an IP packet, and keeps the buffers small that many tools
// allocate for the longest packet.
const maxSegment = 32 << 10

// recorder writes connections as packets. Its Writer's mutex guards it.
type recorder struct {
	ng    *ngWriter
	err   error // the first error; nothing is written after it
	flows map[*tapFlow]*recorded

	headersOnly bool // payload is replaced by zeros, see concealer

	// room reports whether a packet of this size may be written; nil: every packet may.
	room    func(size int) bool
	written func() // called after each packet that was written
	packets uint64
	dropped uint64

	buf []byte // memory for a packet
}

// recorded is a connection as one recorder shows it.
type recorded struct {
	seq    [2]uint32 // by side: TCP sequence number of the next byte
	synced [2]bool   // by side: bytes of this side are recorded; if the capture lacks earlier ones, only from the beginning of a message on

	concealed [2]concealer // by side: removes payload if headersOnly is set
}

// newRecorder writes the beginning of a capture to out.
func newRecorder(out io.Writer) (*recorder, error) {
	ng := newNgWriter(out)
	if err := ng.flush(); err != nil {
		return nil, err
	}
	return &recorder{ng: ng, flows: map[*tapFlow]*recorded{}, buf: make([]byte, 0, 64+maxSegment)}, nil
}

// announce shows the beginning of a connection: the TCP handshake, and the part of LNet's
// handshake that has been sent so far. The mutex of f is held unless f is new.
func (r *recorder) announce(f *tapFlow, at time.Time) {
	const spread = 1_000_003 // distance between the first sequence numbers of consecutive connections
	isn := uint32(f.id) * spread
	c := &recorded{seq: [2]uint32{isn, ^isn}}
	r.flows[f] = c
	r.packet(f, c, Initiator, headers.SYN, nil, at)
	r.packet(f, c, Acceptor, headers.SYN|headers.ACK, nil, at)
	r.packet(f, c, Initiator, headers.ACK, nil, at)
	for side := range f.halves {
		head, all := f.halves[side].replay()
		r.bytes(f, c, Side(side), head, at)
		c.synced[side] = all
	}
}

// data records bytes of a side.
func (r *recorder) data(f *tapFlow, side Side, b []byte, at time.Time) {
	c := r.flows[f]
	if c == nil {
		return // the connection has not been announced in this capture yet
	}
	if !c.synced[side] {
		if !f.halves[side].beginsMessage(b) {
			return
		}
		c.synced[side] = true
	}
	r.bytes(f, c, side, b, at)
}

func (r *recorder) bytes(f *tapFlow, c *recorded, side Side, b []byte, at time.Time) {
	if r.headersOnly {
		b = c.concealed[side].conceal(side, b)
	}
	for len(b) > 0 {
		n := min(len(b), maxSegment)
		r.packet(f, c, side, headers.ACK|headers.PSH, b[:n], at)
		b = b[n:]
	}
}

// close records the end of a connection, as if this node had closed it first.
func (r *recorder) close(f *tapFlow, at time.Time) {
	c := r.flows[f]
	if c == nil {
		return
	}
	delete(r.flows, f)
	r.packet(f, c, f.local, headers.FIN|headers.ACK, nil, at)
	r.packet(f, c, f.local.Other(), headers.FIN|headers.ACK, nil, at)
	r.packet(f, c, f.local, headers.ACK, nil, at)
}

// finish completes the capture with its statistics.
func (r *recorder) finish(at time.Time) {
	if r.err == nil {
		r.ng.statistics(at, r.packets+r.dropped, r.dropped)
	}
	_ = r.flush() // r.err keeps the error of flush
}

func (r *recorder) flush() error {
	if r.err == nil {
		r.err = r.ng.flush()
	}
	return r.err
}

// packet writes one packet from side and moves its sequence number on.
func (r *recorder) packet(f *tapFlow, c *recorded, side Side, flags uint8, b []byte, at time.Time) {
	seq, ack := c.seq[side], c.seq[side.Other()]
	c.seq[side] += uint32(len(b))
	if flags&(headers.SYN|headers.FIN) != 0 {
		c.seq[side]++
	}
	if r.err != nil {
		return
	}
	if r.room != nil && !r.room(len(b)) {
		r.dropped++
		return
	}
	if flags&headers.ACK == 0 {
		ack = 0
	}
	e := headers.Envelope{From: f.ends[side], To: f.ends[side.Other()], TTL: 64}
	r.buf = e.AppendTCP(r.buf[:0], seq, ack, flags, b)
	r.write(at)
}

// write writes the packet that is in r.buf.
func (r *recorder) write(at time.Time) {
	if r.err = r.ng.packet(at, r.buf); r.err != nil {
		return
	}
	r.packets++
	if r.written != nil {
		r.written()
	}
}
