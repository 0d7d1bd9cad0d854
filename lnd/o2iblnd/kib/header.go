package kib

import (
	"fmt"
	"math/bits"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// The magics of this protocol, and of a unified protocol that was planned and never made.
const (
	Magic        uint32 = 0x0BE91B91
	unifiedMagic uint32 = 0x45726963
)

// Sizes in bytes.
const (
	prefixSize = 6  // magic and version, which have the same place in all versions
	HeaderSize = 48 // size of the header of every message
	MaxMsgSize = 4096
	// ImmediateSize is the size of an IMMEDIATE without its payload, of which there may be
	// MaxImmediate bytes.
	ImmediateSize = HeaderSize + wire.HeaderSize
	MaxImmediate  = MaxMsgSize - ImmediateSize
)

// Service is the port of RDMA-CM's port space TCP on which nodes listen
// (module parameter service).
const Service = 987

// Version is a version of the protocol.
type Version uint16

// Versions of the protocol.
const (
	V1 Version = 0x11
	V2 Version = 0x12
)

// IsValid reports whether v is a version that this package can parse.
func (v Version) IsValid() bool { return v == V1 || v == V2 }

// String returns the name, such as "v2" or "version 0x13".
func (v Version) String() string {
	if v.IsValid() {
		return fmt.Sprintf("v%d", v&15)
	}
	return fmt.Sprintf("version %#x", uint16(v))
}

// MsgType is the type of a message.
type MsgType uint8

// Types of messages.
const (
	ConnReq   MsgType = 0xC0
	ConnAck   MsgType = 0xC1
	Noop      MsgType = 0xD0
	Immediate MsgType = 0xD1
	PutReq    MsgType = 0xD2
	PutNak    MsgType = 0xD3
	PutAck    MsgType = 0xD4
	PutDone   MsgType = 0xD5
	GetReq    MsgType = 0xD6
	GetDone   MsgType = 0xD7
)

var typeNames = map[MsgType]string{
	ConnReq: "CONNREQ", ConnAck: "CONNACK", Noop: "NOOP", Immediate: "IMMEDIATE", PutReq: "PUT_REQ", PutNak: "PUT_NAK",
	PutAck: "PUT_ACK", PutDone: "PUT_DONE", GetReq: "GET_REQ", GetDone: "GET_DONE",
}

// String returns the name, such as "IMMEDIATE" or "type 0xd8".
func (t MsgType) String() string {
	if s, ok := typeNames[t]; ok {
		return s
	}
	return fmt.Sprintf("type %#02x", uint8(t))
}

// minNob returns the least length of a message, 0 for an unknown type.
func (t MsgType) minNob() uint32 {
	const cookie, completion, oneFrag = 8, 12, descSize + fragSize
	switch t {
	case ConnReq, ConnAck:
		return HeaderSize + ParamsSize
	case Noop:
		return HeaderSize
	case Immediate:
		return ImmediateSize
	case PutReq:
		return ImmediateSize + cookie
	case PutNak, PutDone, GetDone:
		return HeaderSize + completion
	case PutAck:
		return HeaderSize + 2*cookie + oneFrag
	case GetReq:
		return ImmediateSize + cookie + oneFrag
	}
	return 0
}

// IsValid reports whether a message can have type t.
func (t MsgType) IsValid() bool { return t.minNob() > 0 }

// NeedsCredit reports whether a message of type t spends a credit in version
// 2; in version 1 a NOOP does too.
func (t MsgType) NeedsCredit() bool { return t == Immediate || t == PutReq || t == GetReq }

// HasLNet reports whether a message of type t carries an LNet header.
func (t MsgType) HasLNet() bool { return t.NeedsCredit() }

// Header is what every message begins with (struct kib_msg).
type Header struct {
	BigEndian bool    // the sender is a big-endian host
	Version   Version // version of the protocol: 0x11 or 0x12
	Type      MsgType // type of the message, which says what follows the header
	Credits   uint8   // credits given back: buffers that the sender posted again for the receiver's messages
	Nob       uint32  // length of the message as its sender counts it
	Checksum  uint32  // checksum of the message; 0: the sender computed none
	SrcNID    nid.NID // NID of the sender
	SrcStamp  uint64  // incarnation of the sender: microseconds since 1970
	DstNID    nid.NID // NID of the receiver
	DstStamp  uint64  // incarnation of the receiver, 0 if it is not known
}

// ParsePrefix returns the version and the byte order of a message as soon as prefixSize bytes
// of it have arrived. The errors are ErrShort, ErrMagic, errUnifiedMagic and ErrVersion; with
// the last two both results are valid.
func ParsePrefix(b []byte) (v Version, bigEndian bool, err error) {
	if len(b) < prefixSize {
		return 0, false, ErrShort
	}
	magic := byteOrder(false).Uint32(b)
	if swapped := bits.ReverseBytes32(magic); swapped == Magic || swapped == unifiedMagic {
		magic, bigEndian = swapped, true
	}
	v = Version(byteOrder(bigEndian).Uint16(b[4:]))
	switch {
	case magic == unifiedMagic:
		err = errUnifiedMagic
	case magic != Magic:
		return 0, false, ErrMagic
	case !v.IsValid():
		err = ErrVersion
	}
	return v, bigEndian, err
}

// ParseHeader parses the header of the message that arrived in b and checks
// what can be checked without its body and without its checksum. The errors
// are those of ParsePrefix, ErrShort, errNob, errSrcNID, ErrType and
// errNobType; with the last three h is valid.
func ParseHeader(b []byte) (h Header, err error) {
	if h.Version, h.BigEndian, err = ParsePrefix(b); err != nil {
		return h, err
	}
	if len(b) < HeaderSize {
		return h, ErrShort
	}
	o := byteOrder(h.BigEndian)
	h.Type = MsgType(b[6])                 // field ibm_type of struct kib_msg
	h.Credits = b[7]                       // field ibm_credits of struct kib_msg
	h.Nob = o.Uint32(b[8:])                // field ibm_nob of struct kib_msg
	h.Checksum = o.Uint32(b[12:])          // field ibm_cksum of struct kib_msg
	h.SrcNID = nid.From4(o.Uint64(b[16:])) // field ibm_srcnid of struct kib_msg
	h.SrcStamp = o.Uint64(b[24:])          // field ibm_srcstamp of struct kib_msg
	h.DstNID = nid.From4(o.Uint64(b[32:])) // field ibm_dstnid of struct kib_msg
	h.DstStamp = o.Uint64(b[40:])          // field ibm_dststamp of struct kib_msg
	switch {
	case uint64(h.Nob) > uint64(len(b)):
		return h, errNob
	case h.SrcNID.IsAny():
		return h, errSrcNID
	case !h.Type.IsValid():
		return h, ErrType
	case h.Nob < h.Type.minNob():
		return h, errNobType
	}
	return h, nil
}

// appendTo appends the 48 bytes of the header.
func (h *Header) appendTo(b []byte) ([]byte, error) {
	src, dst := h.SrcNID.Value4(), h.DstNID.Value4()
	if src == 0 && h.SrcNID.IsValid() || dst == 0 && h.DstNID.IsValid() {
		return b, ErrLargeNID
	}
	o := byteOrder(h.BigEndian)
	b = o.AppendUint32(b, Magic)              // field ibm_magic of struct kib_msg
	b = o.AppendUint16(b, uint16(h.Version))  // field ibm_version of struct kib_msg
	b = append(b, byte(h.Type), h.Credits)    // fields ibm_type and ibm_credits of struct kib_msg
	b = o.AppendUint32(b, h.Nob)              // field ibm_nob of struct kib_msg
	b = o.AppendUint32(b, h.Checksum)         // field ibm_cksum of struct kib_msg
	b = o.AppendUint64(b, src)                // field ibm_srcnid of struct kib_msg
	b = o.AppendUint64(b, h.SrcStamp)         // field ibm_srcstamp of struct kib_msg
	b = o.AppendUint64(b, dst)                // field ibm_dstnid of struct kib_msg
	return o.AppendUint64(b, h.DstStamp), nil // field ibm_dststamp of struct kib_msg
}

// CheckConn compares a message that arrived on an established connection with
// that connection: peer and local are its ends, peerStamp and stamp their
// incarnations. Every error wraps errStale and says what differs.
func (h *Header) CheckConn(peer nid.NID, peerStamp uint64, local nid.NID, stamp uint64) error {
	switch {
	case h.SrcNID != peer:
		return errStaleSrcNID
	case h.DstNID != local:
		return errStaleDstNID
	case h.SrcStamp != peerStamp:
		return errStaleSrcStamp
	case h.DstStamp != stamp:
		return errStaleDstStamp
	}
	return nil
}
