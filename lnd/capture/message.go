package capture

import (
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// header reads the ksock header, where there is one, and the LNet header.
func (d *Decoder) header(h *half) {
	lnet := h.buf
	if h.framed() {
		h.ksock, lnet, _ = ksock.ParseMsgHeader(h.buf, h.bigEndian) // buf holds the complete header, so there is no error
		if h.ksock.Type == ksock.Noop {
			d.noop(h)
			return
		}
		if h.ksock.Type != ksock.LNet {
			d.rescan(h, ksock.ErrMsgType)
			return
		}
	}
	if len(h.buf) < h.headerSize() {
		h.need = h.headerSize()
		return
	}
	var err error
	if h.large() {
		h.header, _, err = wire.ParseLargeHeader(lnet)
	} else {
		h.header, _, err = wire.ParseHeader(lnet)
	}
	if err != nil {
		d.rescan(h, err)
		return
	}
	h.invalid = h.header.Validate()
	if h.header.Type > wire.Hello || h.header.PayloadLength > wire.MaxPayload {
		d.rescan(h, h.invalid) // the length in an invalid header is not trusted
		return
	}
	h.left, h.missing = h.header.PayloadLength, 0
	if h.framed() && h.ksock.Checksum != 0 {
		h.sum = ksock.Checksum(h.ksock, lnet)
	}
	if h.phase = phasePayload; h.left == 0 {
		d.message(h, nil)
	}
}

// noop reports the NOOP whose header is in buf.
func (d *Decoder) noop(h *half) {
	r := d.record(h, Noop)
	r.Ksock = h.ksock
	_, r.Err = h.ksock.Acks()
	h.sum, h.missing = ksock.ChecksumHeader(h.ksock), 0
	r.Checksum = h.checksum()
	d.emit(r)
	h.expect(phaseHeader)
}

// payload processes bytes of a message's payload, and keeps as many of its first bytes as the option
// says.
func (d *Decoder) payload(h *half, b []byte) (rest []byte) {
	n := int(min(uint64(h.left), uint64(len(b))))
	room := max(0, h.headerSize()+d.keep-len(h.buf))
	h.buf = append(h.buf, b[:min(n, room)]...)
	if h.framed() && h.ksock.Checksum != 0 {
		h.sum = ksock.UpdateChecksum(h.sum, b[:n])
	}
	h.left -= uint32(n)
	h.next += uint64(n)
	if h.left == 0 {
		d.message(h, nil)
	}
	return b[n:]
}

// message reports the message in buf. If the stream ended within its payload,
// cause says so; otherwise cause is nil.
func (d *Decoder) message(h *half, cause error) {
	r := d.record(h, Message)
	r.Length = h.next - h.start
	r.Framed, r.Ksock = h.framed(), h.ksock
	if !r.Framed {
		r.Ksock = ksock.MsgHeader{}
	}
	r.Large, r.Header = h.large(), h.header
	r.Payload = h.buf[h.headerSize():]
	r.Missing = h.missing
	r.Err = h.invalid
	if cause != nil {
		r.Err = cause
	}
	if r.Framed {
		r.Checksum = h.checksum()
	}
	d.emit(r)
	h.expect(phaseHeader)
}

// checksum judges the checksum of the message in progress. The checksums of
// v3 and v4 have another meaning, and no known node sends them.
func (h *half) checksum() ChecksumState {
	switch {
	case h.ksock.Checksum == 0:
		return ChecksumNone
	case h.missing == 0 && h.sum == h.ksock.Checksum:
		return ChecksumGood
	case h.missing == 0 && h.version == ksock.V2:
		return ChecksumBad
	}
	return ChecksumUnchecked
}
