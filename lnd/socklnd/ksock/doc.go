// Package ksock is the wire format of socklnd, the TCP driver of the Lustre
// kernel modules: the HELLO handshake in its four versions and the header
// that precedes every message (Lustre lnet/klnds/socklnd, lnet/socklnd.h).
//
// It does no I/O, keeps no state and allocates only for the address list of
// a HELLO that has one. The acceptor request that comes before the HELLO and
// the LNet header that comes after the message header are in lnet/wire.
//
// # Byte order
//
// The sender writes HELLO v2 to v4 and every message header in its own byte
// order; the magic of its HELLO tells which one. HELLO v1 is always
// little-endian. Extended NIDs have a byte order of their own and are never
// swapped. Everything appended here is little-endian unless BigEndian is set.
//
// # HELLO
//
//	v1, 72 bytes           v2 and v3, 56 bytes     v4, 80 bytes
//	 0  4 magic 0xeebc0ded  0  4 magic 0x45726963    0  4 magic 0x45726963
//	 4  2 major 1           4  4 version 2 or 3      4  4 version 4
//	 6  2 minor 0           8  8 src NID             8 20 src NID, extended
//	 8  8 src NID          16  8 dst NID            28 20 dst NID, extended
//	16  4 dst pid          24  4 src pid            48  4 src pid
//	20  4 src pid          28  4 dst pid            52  4 dst pid
//	24  4 type 4           32  8 src incarnation    56  8 src incarnation
//	28  4 4 × nips         40  8 dst incarnation    64  8 dst incarnation
//	32  8 src incarnation  48  4 connection type    72  4 connection type
//	40  4 connection type  52  4 nips               76  4 nips
//	44 28 zero             56  4 × nips addresses
//	72  4 × nips addresses
//
// # Message header
//
//	 0  4  type: 0xC0 NOOP, 0xC1 LNET
//	 4  4  checksum, 0 for none
//	 8  8  cookie 0
//	16  8  cookie 1
//
// A NOOP is the header alone. After the header of an LNET message come the
// LNet header (72 bytes, 96 on v4) and its payload. On v1 connections there
// is no message header at all.
//
// # Multicast datagram
//
//	0  4  magic: "LNMC"
//	4  2  version 1
//	6  2  size of the LNet header, 72 or 96
//
// Numbers are little-endian. The LNet header follows, of a PUT that asks for no
// ACK, and the payload. Its destination NID is the address of the group, which
// the datagram is sent to, on the sender's net. Kernels have no such thing.
package ksock

import "errors"

// Errors of parsing, one for each counter of the callers.
var (
	// ErrShort means that the bytes end inside the record.
	ErrShort = errors.New("record is cut short")
	// ErrMagic means that the record does not begin with a HELLO magic.
	ErrMagic = errors.New("not a HELLO magic")
	// ErrVersion means a HELLO of a version that is not 1.0, 2, 3 or 4.
	ErrVersion = errors.New("unknown HELLO version")
	// ErrHelloType means a v1 HELLO whose LNet type is not HELLO.
	ErrHelloType = errors.New("v1 HELLO is not of type HELLO")
	// ErrAddresses means a HELLO with more than MaxAddresses addresses, with
	// a zero one, or with a count that does not fit its list.
	ErrAddresses = errors.New("bad address list in HELLO")
	// ErrConnType means a connection type outside of NONE to BULK_OUT.
	ErrConnType = errors.New("unknown connection type")
	// ErrSourceNID means a HELLO whose source NID names no node.
	ErrSourceNID = errors.New("source NID names no node")
	// errLargeNID means that a NID does not fit the 8 bytes of v1 to v3.
	errLargeNID = errors.New("NID needs HELLO v4")
	// ErrMsgType means a message header that is neither NOOP nor LNET.
	ErrMsgType = errors.New("unknown message type")
	// errAck means zero-copy acks that no sender may send.
	errAck = errors.New("bad zero-copy ack")
)
