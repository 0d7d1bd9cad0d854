package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ulnet/lnet/nid"
)

// Sizes in bytes of the message header and of its parts.
const (
	HeaderSize      = 72 // size of a header with two nid4 (struct lnet_hdr_nid4)
	LargeHeaderSize = 96 // size of a header with two extended NIDs (struct lnet_hdr_nid16)
	BodySize        = 40 // size of the command in a header of either size
)

// MaxPayload is the largest payload of a message in bytes (LNET_MTU).
const MaxPayload = 1 << 20

// Errors of this package. The caller counts them.
var (
	ErrShort       = errors.New("message too short")
	ErrLargeNID    = errors.New("NID does not fit 8 bytes")
	ErrType        = errors.New("unknown message type")
	errPayload     = errors.New("payload where none is allowed")
	errPayloadSize = errors.New("payload longer than 1 MiB")
)

// MsgType is the type of an LNet message (lnet_msg_type).
type MsgType uint32

// The message types. Hello is no message: it opens socklnd connections of
// protocol version 1.
const (
	Ack   MsgType = 0
	Put   MsgType = 1
	Get   MsgType = 2
	Reply MsgType = 3
	Hello MsgType = 4
)

var msgTypeNames = [...]string{Ack: "ACK", Put: "PUT", Get: "GET", Reply: "REPLY", Hello: "HELLO"}

// String returns "ACK", "PUT", "GET", "REPLY", "HELLO" or "type 7".
func (t MsgType) String() string {
	if int64(t) < int64(len(msgTypeNames)) {
		return msgTypeNames[t]
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Header is the header of an LNet message (struct lnet_hdr). Body holds the command of the type
// in its wire form. Ack, Put, Get, Reply and Hello read it; their Set counterparts write it
// together with the type.
type Header struct {
	DestNID       nid.NID        // final destination, which may differ from the next hop
	SrcNID        nid.NID        // NID of the node that originated the message
	DestPID       nid.PID        // PID of the destination
	SrcPID        nid.PID        // PID of the originator
	Type          MsgType        // type of the message, which says what Body is
	PayloadLength uint32         // number of payload bytes that follow the header
	Body          [BodySize]byte // the command in wire form, 40 bytes
}

// ParseHeader parses the 72-byte form. The only error is ErrShort.
func ParseHeader(b []byte) (h Header, rest []byte, err error) {
	if len(b) < HeaderSize {
		return Header{}, b, ErrShort
	}
	h.DestNID = nid.From4(binary.LittleEndian.Uint64(b))    // dest_nid
	h.SrcNID = nid.From4(binary.LittleEndian.Uint64(b[8:])) // src_nid
	h.parseCommon(b[16:HeaderSize])
	return h, b[HeaderSize:], nil
}

// ParseLargeHeader parses the 96-byte form. The errors are ErrShort and, for a
// NID of impossible length, nid.ErrSize.
func ParseLargeHeader(b []byte) (h Header, rest []byte, err error) {
	if len(b) < LargeHeaderSize {
		return Header{}, b, ErrShort
	}
	if h.DestNID, _, err = nid.ParseExtended(b); err != nil { // dest_nid
		return Header{}, b, fmt.Errorf("destination: %w", err)
	}
	if h.SrcNID, _, err = nid.ParseExtended(b[20:]); err != nil { // src_nid
		return Header{}, b, fmt.Errorf("source: %w", err)
	}
	h.parseCommon(b[40:LargeHeaderSize])
	return h, b[LargeHeaderSize:], nil
}

// parseCommon parses the 56 bytes that follow the NIDs.
func (h *Header) parseCommon(b []byte) {
	_ = b[55]
	h.DestPID = nid.PID(binary.LittleEndian.Uint32(b))    // dest_pid
	h.SrcPID = nid.PID(binary.LittleEndian.Uint32(b[4:])) // src_pid
	h.Type = MsgType(binary.LittleEndian.Uint32(b[8:]))   // type
	h.PayloadLength = binary.LittleEndian.Uint32(b[12:])  // payload_length
	h.Body = [BodySize]byte(b[16:])                       // msg
}

// AppendBinary appends the 72-byte form. The error is ErrLargeNID if one of
// the NIDs needs the large form; b is returned unchanged then.
func (h *Header) AppendBinary(b []byte) ([]byte, error) {
	if !fits4(h.DestNID) || !fits4(h.SrcNID) {
		return b, ErrLargeNID
	}
	b = binary.LittleEndian.AppendUint64(b, h.DestNID.Value4()) // dest_nid
	b = binary.LittleEndian.AppendUint64(b, h.SrcNID.Value4())  // src_nid
	return h.appendCommon(b), nil
}

// AppendLarge appends the 96-byte form. The error is always nil.
func (h *Header) AppendLarge(b []byte) ([]byte, error) {
	b = h.DestNID.AppendExtended(b) // dest_nid
	b = h.SrcNID.AppendExtended(b)  // src_nid
	return h.appendCommon(b), nil
}

func (h *Header) appendCommon(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(h.DestPID)) // dest_pid
	b = binary.LittleEndian.AppendUint32(b, uint32(h.SrcPID))  // src_pid
	b = binary.LittleEndian.AppendUint32(b, uint32(h.Type))    // type
	b = binary.LittleEndian.AppendUint32(b, h.PayloadLength)   // payload_length
	return append(b, h.Body[:]...)                             // msg
}

func fits4(n nid.NID) bool { return n.Is4() || n.IsAny() }

// Validate returns an error for a header on which LNet closes the connection (LNet lib-move.c
// lnet_parse): ErrType for all types but ACK, PUT, GET and REPLY, errPayload for an ACK or
// GET with payload, errPayloadSize for more than MaxPayload.
func (h *Header) Validate() error {
	switch h.Type {
	case Ack, Get:
		if h.PayloadLength > 0 {
			return errPayload
		}
	case Put, Reply:
		if h.PayloadLength > MaxPayload {
			return errPayloadSize
		}
	default:
		return ErrType
	}
	return nil
}
