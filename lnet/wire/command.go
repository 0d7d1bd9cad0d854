package wire

import (
	"encoding/binary"
	"fmt"
)

// Sizes in bytes of the commands without the zeros that follow them.
const (
	mdHandleSize = 16
	ackCmdSize   = 28
	putCmdSize   = 40
	getCmdSize   = 36
	replyCmdSize = 16
	helloCmdSize = 12
)

// MDHandle names a memory descriptor of the node that made it (struct
// lnet_handle_wire). To every other node it is opaque. The zero MDHandle is no
// special value: see NoHandle.
type MDHandle struct {
	Interface uint64 // number that differs between incarnations of the node
	Object    uint64 // number that differs between objects of the node
}

// NoHandle returns the handle that stands for none (LNET_WIRE_HANDLE_COOKIE_NONE).
func NoHandle() MDHandle { return MDHandle{1<<64 - 1, 1<<64 - 1} }

// IsNone reports whether m equals NoHandle().
func (m MDHandle) IsNone() bool { return m == NoHandle() }

// String returns both numbers in hexadecimal, or "none".
func (m MDHandle) String() string {
	if m.IsNone() {
		return "none"
	}
	return fmt.Sprintf("%#x.%#x", m.Interface, m.Object)
}

func (m MDHandle) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, m.Interface) // wh_interface_cookie
	return binary.LittleEndian.AppendUint64(b, m.Object) // wh_object_cookie
}

func parseMDHandle(b []byte) (m MDHandle) {
	_ = b[mdHandleSize-1]
	m.Interface = binary.LittleEndian.Uint64(b)  // wh_interface_cookie
	m.Object = binary.LittleEndian.Uint64(b[8:]) // wh_object_cookie
	return m
}

// AckCmd acknowledges a PUT (struct lnet_ack).
type AckCmd struct {
	DstMD     MDHandle // AckMD of the PUT
	MatchBits uint64   // match bits of the PUT
	MLength   uint32   // number of bytes that the target took
}

// AppendBinary appends a. The error is always nil.
func (a AckCmd) AppendBinary(b []byte) ([]byte, error) {
	b = a.DstMD.append(b)                                      // dst_wmd
	b = binary.LittleEndian.AppendUint64(b, a.MatchBits)       // match_bits
	return binary.LittleEndian.AppendUint32(b, a.MLength), nil // mlength
}

// parseAckCmd parses an AckCmd. The only error is ErrShort.
func parseAckCmd(b []byte) (a AckCmd, rest []byte, err error) {
	if len(b) < ackCmdSize {
		return AckCmd{}, b, ErrShort
	}
	a.DstMD = parseMDHandle(b)                       // dst_wmd
	a.MatchBits = binary.LittleEndian.Uint64(b[16:]) // match_bits
	a.MLength = binary.LittleEndian.Uint32(b[24:])   // mlength
	return a, b[ackCmdSize:], nil
}

// PutCmd sends data (struct lnet_put).
type PutCmd struct {
	AckMD     MDHandle // the initiator's MD that awaits an ACK, or NoHandle
	MatchBits uint64   // match bits, compared with the target's match entries
	HdrData   uint64   // 64 bits that the target's event has; LNet ignores them
	Portal    uint32   // portal index at the target
	Offset    uint32   // offset in the target's MD, if that has the option ManageRemote
}

// AppendBinary appends p. The error is always nil.
func (p PutCmd) AppendBinary(b []byte) ([]byte, error) {
	var body [putCmdSize]byte
	putBody(&body, p.AckMD, p.MatchBits, p.HdrData, p.Portal, p.Offset)
	return append(b, body[:]...), nil
}

// putBody encodes the fields of a PutCmd in place.
func putBody(b *[putCmdSize]byte, ackMD MDHandle, matchBits, hdrData uint64, portal, offset uint32) {
	binary.LittleEndian.PutUint64(b[:], ackMD.Interface) // ack_wmd
	binary.LittleEndian.PutUint64(b[8:], ackMD.Object)
	binary.LittleEndian.PutUint64(b[16:], matchBits) // match_bits
	binary.LittleEndian.PutUint64(b[24:], hdrData)   // hdr_data
	binary.LittleEndian.PutUint32(b[32:], portal)    // ptl_index
	binary.LittleEndian.PutUint32(b[36:], offset)    // offset
}

// Parse parses the body of a PUT in place, which for many messages costs less than [Header.Put].
func (p *PutCmd) Parse(b *[putCmdSize]byte) {
	p.AckMD = parseMDHandle(b[:])                    // ack_wmd
	p.MatchBits = binary.LittleEndian.Uint64(b[16:]) // match_bits
	p.HdrData = binary.LittleEndian.Uint64(b[24:])   // hdr_data
	p.Portal = binary.LittleEndian.Uint32(b[32:])    // ptl_index
	p.Offset = binary.LittleEndian.Uint32(b[36:])    // offset
}

// GetCmd asks for data (struct lnet_get).
type GetCmd struct {
	ReturnMD   MDHandle // MD of the initiator that awaits the REPLY
	MatchBits  uint64   // match bits, compared with the target's match entries
	Portal     uint32   // portal index at the target
	SrcOffset  uint32   // offset in the target's MD, if that has the option ManageRemote
	SinkLength uint32   // number of bytes wanted
}

// AppendBinary appends g. The error is always nil.
func (g GetCmd) AppendBinary(b []byte) ([]byte, error) {
	b = g.ReturnMD.append(b)                              // return_wmd
	b = binary.LittleEndian.AppendUint64(b, g.MatchBits)  // match_bits
	b = binary.LittleEndian.AppendUint32(b, g.Portal)     // ptl_index
	b = binary.LittleEndian.AppendUint32(b, g.SrcOffset)  // src_offset
	b = binary.LittleEndian.AppendUint32(b, g.SinkLength) // sink_length
	return b, nil
}

// parseGetCmd parses a GetCmd. The only error is ErrShort.
func parseGetCmd(b []byte) (g GetCmd, rest []byte, err error) {
	if len(b) < getCmdSize {
		return GetCmd{}, b, ErrShort
	}
	g.ReturnMD = parseMDHandle(b)                     // return_wmd
	g.MatchBits = binary.LittleEndian.Uint64(b[16:])  // match_bits
	g.Portal = binary.LittleEndian.Uint32(b[24:])     // ptl_index
	g.SrcOffset = binary.LittleEndian.Uint32(b[28:])  // src_offset
	g.SinkLength = binary.LittleEndian.Uint32(b[32:]) // sink_length
	return g, b[getCmdSize:], nil
}

// ReplyCmd answers a GET (struct lnet_reply).
type ReplyCmd struct {
	DstMD MDHandle // ReturnMD of the GET
}

// AppendBinary appends r. The error is always nil.
func (r ReplyCmd) AppendBinary(b []byte) ([]byte, error) {
	return r.DstMD.append(b), nil // dst_wmd
}

// parseReplyCmd parses a ReplyCmd. The only error is ErrShort.
func parseReplyCmd(b []byte) (r ReplyCmd, rest []byte, err error) {
	if len(b) < replyCmdSize {
		return ReplyCmd{}, b, ErrShort
	}
	r.DstMD = parseMDHandle(b) // dst_wmd
	return r, b[replyCmdSize:], nil
}

// HelloCmd is the command of the HELLO of socklnd version 1 (struct
// lnet_hello).
type HelloCmd struct {
	Incarnation uint64 // incarnation of the sender's NI
	ConnType    int32  // connection type of socklnd; -1 refuses the connection
}

// AppendBinary appends h. The error is always nil.
func (h HelloCmd) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, h.Incarnation)              // incarnation
	return binary.LittleEndian.AppendUint32(b, uint32(h.ConnType)), nil // type
}

// parseHelloCmd parses a HelloCmd. The only error is ErrShort.
func parseHelloCmd(b []byte) (h HelloCmd, rest []byte, err error) {
	if len(b) < helloCmdSize {
		return HelloCmd{}, b, ErrShort
	}
	h.Incarnation = binary.LittleEndian.Uint64(b)         // incarnation
	h.ConnType = int32(binary.LittleEndian.Uint32(b[8:])) // type
	return h, b[helloCmdSize:], nil
}
