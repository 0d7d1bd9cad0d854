package kib

import (
	"errors"

	"ulnet/lnet/wire"
)

// Datagrams is the format of multicast datagrams, each of which is the payload of a UD packet to a group. NIDs
// of o2ib need only the short form of the LNet header.
var Datagrams = wire.DatagramFormat{
	Magic:    0x424d4e4c, // the bytes "LNMB" on the wire
	ErrMagic: errors.New("not a multicast datagram of o2iblnd"), ErrHeader: errors.New("no LNet header of o2iblnd has this size"), ErrShort: ErrShort,
}

// DatagramOverhead is the number of bytes that precede the payload of a datagram.
const DatagramOverhead = wire.DatagramPrefixSize + wire.HeaderSize
