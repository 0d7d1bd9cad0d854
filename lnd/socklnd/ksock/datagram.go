package ksock

import (
	"encoding/binary"
	"errors"

	"ulnet/lnet/wire"
)

// The first fields of a multicast datagram. Kernels have no multicast: the format is this
// project's.
const (
	DatagramMagic   uint32 = 0x434d4e4c // the bytes "LNMC" on the wire
	datagramVersion uint16 = 1
)

// DatagramPrefixSize is the length in bytes of what precedes the LNet header.
const DatagramPrefixSize = 8

// Errors of ParseDatagram, besides ErrShort and the errors of package wire.
var (
	// ErrDatagramMagic means that the bytes are no multicast datagram in this format.
	ErrDatagramMagic = errors.New("not a multicast datagram of LNet")
	// ErrDatagramVersion means a datagram of an unknown version.
	ErrDatagramVersion = errors.New("unknown version of a multicast datagram")
	// errDatagramHeader means that the LNet header's size is unknown.
	errDatagramHeader = errors.New("no LNet header has this size")
	// ErrDatagramLength means a payload that is not as long as its header says.
	ErrDatagramLength = errors.New("payload length differs from the datagram's")
)

// Datagram is a multicast datagram: one LNet message, whole.
type Datagram struct {
	Large   bool        // the header has the 96-byte form, which IPv6 needs
	Header  wire.Header // LNet header of the PUT
	Payload []byte      // payload: Header.PayloadLength bytes
}

// DatagramOverhead returns the number of bytes before the payload.
func DatagramOverhead(large bool) int {
	if large {
		return DatagramPrefixSize + wire.LargeHeaderSize
	}
	return DatagramPrefixSize + wire.HeaderSize
}

// AppendDatagram appends what precedes the payload of a datagram. The error is wire.ErrLargeNID
// for a NID that does not fit; b is returned unchanged then.
func AppendDatagram(b []byte, h *wire.Header, large bool) ([]byte, error) {
	size := uint16(DatagramOverhead(large) - DatagramPrefixSize)
	head := binary.LittleEndian.AppendUint32(b, DatagramMagic)     // magic
	head = binary.LittleEndian.AppendUint16(head, datagramVersion) // version
	head = binary.LittleEndian.AppendUint16(head, size)            // header size
	var err error
	if large {
		head, err = h.AppendLarge(head)
	} else {
		head, err = h.AppendBinary(head)
	}
	if err != nil {
		return b, err
	}
	return head, nil
}

// AppendBinary appends d whole. The error is as in AppendDatagram.
func (d *Datagram) AppendBinary(b []byte) ([]byte, error) {
	head, err := AppendDatagram(b, &d.Header, d.Large)
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
	case len(b) < DatagramPrefixSize:
		return ErrShort
	case binary.LittleEndian.Uint32(b) != DatagramMagic:
		return ErrDatagramMagic
	case binary.LittleEndian.Uint16(b[4:]) != datagramVersion:
		return ErrDatagramVersion
	}
	size := binary.LittleEndian.Uint16(b[6:])
	b = b[DatagramPrefixSize:]
	switch {
	case size != wire.HeaderSize && size != wire.LargeHeaderSize:
		return errDatagramHeader
	case len(b) < int(size):
		return ErrShort
	}
	if d.Large = size == wire.LargeHeaderSize; d.Large {
		d.Header, d.Payload, err = wire.ParseLargeHeader(b)
	} else {
		d.Header, d.Payload, err = wire.ParseHeader(b)
	}
	if err == nil && uint64(d.Header.PayloadLength) != uint64(len(d.Payload)) {
		err = ErrDatagramLength
	}
	return err
}
