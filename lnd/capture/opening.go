package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// sniff decides what the first captured bytes of a side are: the beginning of
// the connection, or something in its middle.
func (d *Decoder) sniff(h *half, b []byte) (rest []byte) {
	if len(h.buf) > 0 {
		b = append(h.buf, b...)
		h.next = 0
	}
	if len(b) < magicSize {
		h.buf, h.next = bytes.Clone(b), uint64(len(b))
		return nil
	}
	switch binary.LittleEndian.Uint32(b) {
	case wire.AcceptorMagic, bits.ReverseBytes32(wire.AcceptorMagic):
		h.expect(phaseOpening)
		return b
	case ksock.MagicV1, ksock.Magic, bits.ReverseBytes32(ksock.Magic):
		h.expect(phaseHello)
		return b
	}
	if !d.conn.MidStream {
		d.conn.MidStream = true
		d.note(MidStream, h, 0, nil)
	}
	h.version = d.halfs[h.side.Other()].version
	h.cause, h.phase, h.buf = ErrMidStream, phaseScan, nil
	return d.scan(h, b, true)
}

// opening reads what comes first: a request from the initiator, and from the acceptor either a
// refusal of the request or its HELLO.
func (d *Decoder) opening(h *half) {
	size, err := wire.AcceptorRequestSize(h.buf)
	switch {
	case errors.Is(err, wire.ErrVersion):
		size = wire.AcceptorV1Size // size that an acceptor reads before it refuses a request
	case err != nil && h.side == Acceptor:
		h.phase = phaseHello
		d.hello(h)
		return
	case err != nil:
		d.reject(h, err)
		return
	}
	if len(h.buf) < size {
		h.need = size
		return
	}
	r := d.record(h, Request)
	if h.side == Acceptor {
		r.Kind = Refusal
	}
	if r.Request, r.Err = parseRequest(h.buf); errors.Is(r.Err, nid.ErrSize) {
		d.reject(h, r.Err)
		return
	}
	d.emit(r)
	h.expect(phaseHello)
}

// parseRequest parses a request. With the error for an unknown version it returns what the request
// says if read as one of version 1.
func parseRequest(b []byte) (wire.AcceptorRequest, error) {
	r, _, err := wire.ParseAcceptorRequest(b)
	if !errors.Is(err, wire.ErrVersion) {
		return r, err
	}
	var o binary.ByteOrder = binary.LittleEndian
	if r.BigEndian = o.Uint32(b) != wire.AcceptorMagic; r.BigEndian {
		o = binary.BigEndian
	}
	r.Version, r.NID = o.Uint32(b[4:]), nid.From4(o.Uint64(b[8:]))
	return r, err
}

// hello reads a HELLO.
func (d *Decoder) hello(h *half) {
	size, err := ksock.NextSize(h.buf)
	if errors.Is(err, ksock.ErrVersion) {
		d.unknownHello(h, err)
		return
	}
	if err == nil && len(h.buf) < size {
		h.need = size
		return
	}
	hello, _, err := ksock.ParseHello(h.buf)
	if err != nil && !errors.Is(err, ksock.ErrAddresses) {
		d.reject(h, err)
		return
	}
	r := d.record(h, Hello)
	r.Hello, r.Err = hello, err
	if err == nil {
		r.Err = hello.Validate()
	}
	h.version, h.bigEndian = hello.Version, hello.BigEndian
	d.conn.Version = hello.Version
	d.conn.NIDs[h.side] = hello.SrcNID
	d.emit(r)
	if err != nil { // the length of the address list is impossible
		h.start = h.next
		h.buf = h.buf[:0]
		d.reject(h, err)
		return
	}
	h.expect(phaseHeader)
}

// unknownHello reports the prefix of a HELLO of an unknown version; the rest
// of it has no meaning.
func (d *Decoder) unknownHello(h *half, err error) {
	p, _ := ksock.ParsePrefix(h.buf)
	r := d.record(h, Hello)
	r.Hello.Version, r.Hello.BigEndian, r.Err = p.Version, p.BigEndian, err
	d.emit(r)
	h.start = h.next
	h.buf = h.buf[:0]
	d.reject(h, err)
}
