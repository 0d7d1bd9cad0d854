// Package kib is the wire format of o2iblnd, the driver of the Lustre kernel
// modules for RDMA: its messages, and the records that travel in the private
// data of connection management (Lustre lnet/klnds/o2iblnd, o2iblnd-idl.h).
//
// It does no I/O, keeps no state and does not allocate; Parse functions
// return slices of their input. All of it is safe for concurrent use.
//
// # Messages
//
//	 0  4  magic 0x0BE91B91    8  4  nob: length of the message
//	 4  2  version             12 4  checksum, 0 for none
//	 6  1  type                16 8  source NID       24 8  its incarnation
//	 7  1  credits given back  32 8  destination NID  40 8  its incarnation
//
//	type           behind the 48 bytes
//	CONNREQ 0xC0   queue depth 2, max frags 2, max message size 4
//	CONNACK 0xC1   the same
//	NOOP 0xD0      nothing
//	IMMEDIATE 0xD1 LNet header 72, payload
//	PUT_REQ 0xD2   LNet header 72, cookie 8
//	PUT_NAK 0xD3   cookie 8, status 4
//	PUT_ACK 0xD4   cookie of the PUT_REQ 8, cookie 8, descriptor
//	PUT_DONE 0xD5  cookie 8, status 4
//	GET_REQ 0xD6   LNet header 72, cookie 8, descriptor
//	GET_DONE 0xD7  cookie 8, status 4
//
// A descriptor is the key of a buffer (4), the number of its fragments (4),
// and of each fragment length (4) and address (8). A reject is laid out at
// [Reject].
//
// # Byte order
//
// The sender writes in its own byte order, which the magic tells; the LNet
// header alone is always little-endian. What is appended here is
// little-endian unless BigEndian is set.
//
// # Versions
//
// Version 2 (0x12) is parsed and written in full. Messages of version 1 (0x11)
// have the same layout, and are parsed; o2iblnd refuses peers that offer it.
package kib

import (
	"errors"
	"fmt"
)

// Errors of parsing, one for each counter of the callers.
var (
	// ErrShort means fewer bytes than the record, or its type, has.
	ErrShort = errors.New("record is cut short")
	// ErrMagic means bytes that do not begin with o2iblnd's magic.
	ErrMagic = errors.New("not an o2iblnd magic")
	// errUnifiedMagic means the magic of a protocol that was never made
	// (LNET_PROTO_MAGIC). It is an ErrMagic.
	errUnifiedMagic = fmt.Errorf("%w: of a future protocol", ErrMagic)
	// ErrVersion means a version that is neither 1 nor 2.
	ErrVersion = errors.New("unknown version")
	// errNob means a message that claims more bytes than arrived.
	errNob = errors.New("message claims more bytes than there are")
	// errNobType means a message that claims fewer bytes than its type has.
	errNobType = errors.New("message too short for its type")
	// ErrType means that the message type is unknown.
	ErrType = errors.New("unknown message type")
	// ErrChecksum means a checksum that is wrong with every [Counting].
	ErrChecksum = errors.New("checksum is wrong")
	// errSrcNID means that the source NID is the wildcard.
	errSrcNID = errors.New("source NID is the wildcard")
	// errFrags means a descriptor with no fragment or more than MaxFrags.
	errFrags = errors.New("bad number of fragments")
	// errDesc means a descriptor that does not fit its message.
	errDesc = errors.New("descriptor is cut short")
	// errPayload means an IMMEDIATE whose payload is not all there.
	errPayload = errors.New("payload is cut short")
	// ErrTooLong means a message that does not fit MaxMsgSize.
	ErrTooLong = errors.New("message too long")
	// ErrLargeNID means a NID that does not fit 8 bytes.
	ErrLargeNID = errors.New("NID does not fit 8 bytes")

	// errStale is what the errors of Header.CheckConn have in common: the
	// message belongs to another connection, or another incarnation of one.
	errStale = errors.New("stale message")

	errStaleSrcNID   = fmt.Errorf("%w: from another NID", errStale)
	errStaleDstNID   = fmt.Errorf("%w: to another NID", errStale)
	errStaleSrcStamp = fmt.Errorf("%w: from another incarnation of the peer", errStale)
	errStaleDstStamp = fmt.Errorf("%w: to an earlier incarnation of this node", errStale)
)
