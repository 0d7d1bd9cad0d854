package capture

// Decoder turns the bytes of one connection into Records. It is a pure state
// machine: no clock, no I/O, no goroutine, and no more memory than one record
// for each side. Not safe for concurrent use.
//
// It never fails. Bytes that make no sense become an Unknown record with their position in
// the stream. After such bytes in the handshake the rest of the stream cannot be understood;
// after such bytes elsewhere the decoder looks for the next bytes that can be the beginning
// of a message.
type Decoder struct {
	conn  *Conn
	keep  int
	emit  func(*Record)
	halfs [2]half
	at    Stamp
	rec   Record
}

// NewDecoder returns a decoder for conn that hands its Records to emit. Of
// the payload of each message it keeps the first keep bytes.
func NewDecoder(conn *Conn, keep int, emit func(*Record)) *Decoder {
	d := &Decoder{conn: conn, keep: keep, emit: emit}
	for side := range d.halfs {
		d.halfs[side] = half{side: Side(side), phase: phaseSniff}
	}
	return d
}

// Begin says that the next byte of a side is the first one that it sent. Without this call
// the decoder finds out by itself whether the capture has the beginning.
func (d *Decoder) Begin(side Side) {
	h := &d.halfs[side]
	if h.next == 0 {
		h.expect(phaseOpening)
	}
}

// Feed decodes the next bytes of a side.
func (d *Decoder) Feed(side Side, at Stamp, b []byte) {
	d.at = at
	h := &d.halfs[side]
	for whole := len(b); len(b) > 0; {
		switch h.phase {
		case phaseSniff:
			b = d.sniff(h, b)
		case phasePayload:
			b = d.payload(h, b)
		case phaseJunk:
			h.skip(b)
			h.next += uint64(len(b))
			b = nil
		case phaseScan:
			b = d.scan(h, b, len(b) == whole)
		default:
			b = d.collect(h, b)
		}
	}
}

// Gap says that the next n bytes of a side are not in the capture.
func (d *Decoder) Gap(side Side, at Stamp, n uint64) {
	d.at = at
	h := &d.halfs[side]
	d.note(Lost, h, n, nil)
	if h.phase == phasePayload {
		inside := min(n, uint64(h.left))
		h.lose(inside)
		n -= inside
		if h.left == 0 {
			d.message(h, nil)
		}
		if n == 0 {
			return
		}
	}
	switch h.phase {
	case phaseJunk:
		d.unknown(h)
	case phaseScan:
		h.skip(h.buf)
		d.unknown(h)
		h.cause = ErrLost
	default:
		d.cut(h, ErrLost)
		h.phase = phaseScan
	}
	h.next += n
	h.start = h.next
}

// End says that a side sends nothing more: the decoder reports an unfinished record.
func (d *Decoder) End(side Side, at Stamp) {
	d.at = at
	h := &d.halfs[side]
	switch h.phase {
	case phasePayload:
		h.missing += h.left
		d.message(h, ErrCut)
	case phaseScan:
		h.skip(h.buf)
		d.unknown(h)
	case phaseJunk:
		d.unknown(h)
	default:
		d.cut(h, ErrCut)
	}
	h.phase = phaseJunk
}

// note emits a record without bytes.
func (d *Decoder) note(kind Kind, h *half, length uint64, err error) {
	d.rec = Record{Kind: kind, Stamp: d.at, Conn: d.conn, From: h.side, Offset: h.next, Length: length, Err: err}
	d.emit(&d.rec)
}

// cut reports the bytes collected so far as Unknown.
func (d *Decoder) cut(h *half, cause error) {
	h.cause = cause
	h.skip(h.buf)
	d.unknown(h)
}
