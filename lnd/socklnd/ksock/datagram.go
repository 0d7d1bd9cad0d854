package ksock

import (
	"errors"

	"ulnet/lnet/wire"
)

// Datagrams is the format of multicast datagrams, each of which is the payload of a UDP packet to a group.
var Datagrams = wire.DatagramFormat{
	Magic: 0x434d4e4c, // the bytes "LNMC" on the wire
	Large: true, ErrMagic: errors.New("not a multicast datagram of LNet"), ErrHeader: errors.New("no LNet header has this size"), ErrShort: ErrShort,
}
