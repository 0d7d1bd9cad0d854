package capture

import (
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// phase is the part of the stream to which the next byte of a side belongs.
type phase uint8

const (
	phaseSniff   phase = iota // the first bytes that were captured, perhaps not the first that the side sent
	phaseOpening              // acceptor request, or the hello that answers one
	phaseHello
	phaseHeader  // ksock header and LNet header
	phasePayload // payload of the message whose header is in buf
	phaseScan    // the decoder looks for the next message
	phaseJunk    // the handshake was invalid, so that nothing more can be understood
)

const (
	magicSize = 4
	// maxJunk bounds how many bytes of a run without meaning are kept.
	maxJunk = 4096
	// maxIdle bounds the buffer that a side keeps between two records.
	maxIdle = 4096
)

// half is one side of a connection.
type half struct {
	side  Side
	phase phase

	start uint64 // stream offset of the first byte of junk or, if junk is empty, of buf
	next  uint64 // offset in the stream of the next byte to come
	buf   []byte // the record in progress: headers and kept payload
	need  int    // number of bytes that buf must have before step processes it

	junk    []byte // the first bytes of a run of bytes without meaning
	junkLen uint64
	cause   error // why the bytes in junk make no sense

	version   ksock.Version // version of the ksock protocol; 0 while unknown
	bigEndian bool

	// The message in progress.
	ksock   ksock.MsgHeader
	header  wire.Header
	invalid error  // the result of Header.Validate
	left    uint32 // payload bytes of the message that are still to come
	missing uint32 // payload bytes of the message that the capture lacks
	sum     uint32
}

// framed reports whether messages have a ksock header.
func (h *half) framed() bool { return h.version != ksock.V1 }

// large reports whether messages have the 96-byte LNet header.
func (h *half) large() bool { return h.version == ksock.V4 }

// headerSize returns the length of all headers of a message.
func (h *half) headerSize() int {
	switch {
	case !h.framed():
		return wire.HeaderSize
	case h.large():
		return ksock.MsgHeaderSize + wire.LargeHeaderSize
	}
	return ksock.MsgHeaderSize + wire.HeaderSize
}

// skip counts b as bytes without meaning.
func (h *half) skip(b []byte) {
	h.junkLen += uint64(len(b))
	h.junk = append(h.junk, b[:min(len(b), maxJunk-len(h.junk))]...)
}

// lose counts n payload bytes as lost; n is at most left.
func (h *half) lose(n uint64) {
	h.missing += uint32(n)
	h.left -= uint32(n)
	h.next += n
}

// expect begins a record in the given phase.
func (h *half) expect(p phase) {
	if cap(h.buf) > maxIdle {
		h.buf = nil
	}
	h.buf = h.buf[:0]
	h.start, h.phase, h.need = h.next, p, magicSize
	switch {
	case p != phaseHeader:
	case h.framed():
		h.need = ksock.MsgHeaderSize
	default:
		h.need = wire.HeaderSize
	}
}

// collect takes bytes until step can process the record in progress.
func (d *Decoder) collect(h *half, b []byte) (rest []byte) {
	n := min(h.need-len(h.buf), len(b))
	h.buf = append(h.buf, b[:n]...)
	h.next += uint64(n)
	if len(h.buf) == h.need {
		d.step(h)
	}
	return b[n:]
}

// step processes a record when need bytes of it are in buf.
func (d *Decoder) step(h *half) {
	switch h.phase {
	case phaseOpening:
		d.opening(h)
	case phaseHello:
		d.hello(h)
	case phaseHeader:
		d.header(h)
	}
}

// record starts the record of the bytes in buf.
func (d *Decoder) record(h *half, kind Kind) *Record {
	d.rec = Record{
		Kind: kind, Stamp: d.at, Conn: d.conn, From: h.side,
		Offset: h.start, Length: uint64(len(h.buf)), Raw: h.buf,
	}
	return &d.rec
}

// unknown reports the run of bytes without meaning, if there is one.
func (d *Decoder) unknown(h *half) {
	if h.junkLen > 0 {
		d.rec = Record{
			Kind: Unknown, Stamp: d.at, Conn: d.conn, From: h.side,
			Offset: h.start, Length: h.junkLen, Raw: h.junk, Err: h.cause,
		}
		d.emit(&d.rec)
	}
	h.start += h.junkLen
	h.buf, h.junk, h.junkLen = h.buf[:0], nil, 0
}

// reject gives up the handshake of a side: what is in buf and all that
// follows has no meaning.
func (d *Decoder) reject(h *half, cause error) {
	h.cause, h.phase = cause, phaseJunk
	h.skip(h.buf)
	h.buf = nil
}
