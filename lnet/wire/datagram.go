package wire

import (
	"encoding/binary"
	"errors"
)

// DatagramFormat is the format of a driver's multicast datagrams. A datagram is one LNet message, whole, in a
// packet to a group. Kernels have no multicast: the format is this project's. The byte order is always
// little-endian. A datagram consists of (offset and size in bytes):
//
//	0 4  magic            8 72 or 96  LNet header; states the length of the payload
//	4 2  version 1        80 or 104 … payload, to the end of the packet
//	6 2  header size
type DatagramFormat struct {
	Magic uint32 // first field of each datagram
	Large bool   // whether LNet headers may have the 96-byte form, which IPv6 needs

	// The errors of Parse besides those of this package.
	ErrMagic  error // the bytes are no datagram in this format
	ErrHeader error // the LNet header does not have a size of this format
	ErrShort  error // the bytes end within the headers
}

const datagramVersion = 1

// DatagramPrefixSize is the length in bytes of what precedes the LNet header of a datagram.
const DatagramPrefixSize = 8

// Errors of DatagramFormat.Parse.
var (
	// ErrDatagramVersion means a datagram of an unknown version.
	ErrDatagramVersion = errors.New("unknown version of a multicast datagram")
	// ErrDatagramLength means a payload that is not as long as its header says.
	ErrDatagramLength = errors.New("payload length differs from the datagram's")
)

// Datagram is a multicast datagram.
type Datagram struct {
	Large   bool   // the header has the 96-byte form
	Header  Header // LNet header of the PUT
	Payload []byte // payload: Header.PayloadLength bytes
}

// DatagramOverhead returns the number of bytes before the payload of a datagram.
func DatagramOverhead(large bool) int {
	if large {
		return DatagramPrefixSize + LargeHeaderSize
	}
	return DatagramPrefixSize + HeaderSize
}

// AppendHeaders appends what precedes the payload of a datagram. The error is ErrLargeNID for a NID that does
// not fit; b is returned unchanged then.
func (f *DatagramFormat) AppendHeaders(b []byte, h *Header, large bool) ([]byte, error) {
	head := binary.LittleEndian.AppendUint32(b, f.Magic)                                              // magic
	head = binary.LittleEndian.AppendUint16(head, datagramVersion)                                    // version
	head = binary.LittleEndian.AppendUint16(head, uint16(DatagramOverhead(large)-DatagramPrefixSize)) // header size
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

// Append appends d whole. The error is as in AppendHeaders.
func (f *DatagramFormat) Append(b []byte, d *Datagram) ([]byte, error) {
	head, err := f.AppendHeaders(b, &d.Header, d.Large)
	if err != nil {
		return b, err
	}
	return append(head, d.Payload...), nil
}

// Parse parses all of b into d; d.Payload is a part of b. Nothing may follow the payload, and nothing of it may
// be missing. After an error d is of no use, except with ErrDatagramLength: then the header is valid, and
// Payload is what follows it.
func (f *DatagramFormat) Parse(b []byte, d *Datagram) (err error) {
	switch {
	case len(b) < DatagramPrefixSize:
		return f.ErrShort
	case binary.LittleEndian.Uint32(b) != f.Magic:
		return f.ErrMagic
	case binary.LittleEndian.Uint16(b[4:]) != datagramVersion:
		return ErrDatagramVersion
	}
	size := binary.LittleEndian.Uint16(b[6:])
	b = b[DatagramPrefixSize:]
	switch d.Large = f.Large && size == LargeHeaderSize; {
	case size != HeaderSize && !d.Large:
		return f.ErrHeader
	case len(b) < int(size):
		return f.ErrShort
	case d.Large:
		d.Header, d.Payload, err = ParseLargeHeader(b)
	default:
		d.Header, d.Payload, err = ParseHeader(b)
	}
	if err == nil && uint64(d.Header.PayloadLength) != uint64(len(d.Payload)) {
		err = ErrDatagramLength
	}
	return err
}
