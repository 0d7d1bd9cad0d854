package kib

import (
	"encoding/binary"
	"errors"

	"ulnet/lnet/wire"
)

// A multicast datagram is the payload of a UD packet to a group. Kernels have no multicast: the
// format is this project's. Unlike in messages the byte order is always little-endian. A
// datagram consists of (offset and size in bytes):
//
//	0 4  magic 0x424D4E4C     8 72 LNet header; states the length of the payload
//	4 2  version 1           80  …  payload, to the end of the packet
//	6 2  header size 72
const (
	DatagramMagic   uint32 = 0x424d4e4c // the bytes "LNMB" on the wire
	datagramVersion uint16 = 1
)

// Sizes in bytes of what precedes the LNet header of a datagram, and of what precedes its payload.
const (
	datagramPrefixSize = 8
	DatagramOverhead   = datagramPrefixSize + wire.HeaderSize
)

// Errors of ParseDatagram, besides ErrShort and the errors of package wire.
var (
	// ErrDatagramMagic means that the bytes are no multicast datagram in this format.
	ErrDatagramMagic = errors.New("not a multicast datagram of o2iblnd")
	// ErrDatagramVersion means a datagram of an unknown version.
	ErrDatagramVersion = errors.New("unknown version of a multicast datagram")
	// errDatagramHeader means an LNet header of another size than the short form, the only form
	// that o2ib uses.
	errDatagramHeader = errors.New("no LNet header of o2iblnd has this size")
	// ErrDatagramLength means a payload that is not as long as its header says.
	ErrDatagramLength = errors.New("payload length differs from the datagram's")
)

// Datagram is a multicast datagram: one LNet message, whole.
type Datagram struct {
	Header  wire.Header // LNet header of the PUT
	Payload []byte      // payload: Header.PayloadLength bytes
}

// AppendDatagram appends what precedes the payload of a datagram. The error is
// wire.ErrLargeNID for a NID that does not fit; b is returned unchanged then.
func AppendDatagram(b []byte, h *wire.Header) ([]byte, error) {
	head := binary.LittleEndian.AppendUint32(b, DatagramMagic)     // magic
	head = binary.LittleEndian.AppendUint16(head, datagramVersion) // version
	head = binary.LittleEndian.AppendUint16(head, wire.HeaderSize) // header size
	head, err := h.AppendBinary(head)
	if err != nil {
		return b, err
	}
	return head, nil
}

// AppendBinary appends d whole. The error is as in AppendDatagram.
func (d *Datagram) AppendBinary(b []byte) ([]byte, error) {
	head, err := AppendDatagram(b, &d.Header)
	if err != nil {
		return b, err
	}
	return append(head, d.Payload...), nil
}

// ParseDatagram parses all of b into d; d.Payload is a part of b. Nothing may follow the
// payload, and nothing of it may be missing. After an error d is of no use, except with
// ErrDatagramLength: then the header is valid, and Payload is what follows it.
func ParseDatagram(b []byte, d *Datagram) (err error) {
	switch {
	case len(b) < datagramPrefixSize:
		return ErrShort
	case binary.LittleEndian.Uint32(b) != DatagramMagic:
		return ErrDatagramMagic
	case binary.LittleEndian.Uint16(b[4:]) != datagramVersion:
		return ErrDatagramVersion
	case binary.LittleEndian.Uint16(b[6:]) != wire.HeaderSize:
		return errDatagramHeader
	case len(b) < DatagramOverhead:
		return ErrShort
	}
	d.Header, d.Payload, err = wire.ParseHeader(b[datagramPrefixSize:])
	if err == nil && uint64(d.Header.PayloadLength) != uint64(len(d.Payload)) {
		err = ErrDatagramLength
	}
	return err
}
