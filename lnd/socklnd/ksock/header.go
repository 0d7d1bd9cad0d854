package ksock

import "fmt"

// MsgHeaderSize is the length of a message header in bytes.
const MsgHeaderSize = 24

// MsgType tells what follows a message header.
type MsgType uint32

// The message types (KSOCK_MSG_NOOP, KSOCK_MSG_LNET).
const (
	Noop MsgType = 0xC0 // no LNet message; carries acks or keeps the link alive
	LNet MsgType = 0xC1 // an LNet header and its payload
)

// String returns "NOOP", "LNET" or the number in hex.
func (t MsgType) String() string {
	switch t {
	case Noop:
		return "NOOP"
	case LNet:
		return "LNET"
	}
	return fmt.Sprintf("%#x", uint32(t))
}

// MsgHeader precedes every message on connections of v2 and later (struct
// ksock_msg_hdr).
type MsgHeader struct {
	BigEndian bool    // byte order of the sender, learned from its HELLO
	Type      MsgType // field ksh_type of struct ksock_msg_hdr
	Checksum  uint32  // field ksh_csum of struct ksock_msg_hdr, 0 for no checksum: see [Checksum]
	// Cookies are ksh_zc_cookies. Cookies[0] of an LNET message asks for a
	// zero-copy ack with that cookie; [MsgHeader.Acks] reads all other cookies.
	Cookies [2]uint64
}

// NewNoop returns the header that acknowledges one cookie. Every version
// understands it.
func NewNoop(cookie uint64) MsgHeader {
	return MsgHeader{Type: Noop, Cookies: [2]uint64{0, cookie}}
}

// AppendBinary appends h. The error is always nil.
func (h MsgHeader) AppendBinary(b []byte) ([]byte, error) {
	o := byteOrder(h.BigEndian)
	b = o.AppendUint32(b, uint32(h.Type)) // field ksh_type of struct ksock_msg_hdr
	b = o.AppendUint32(b, h.Checksum)     // field ksh_csum of struct ksock_msg_hdr
	b = o.AppendUint64(b, h.Cookies[0])   // field ksh_zc_cookies[0] of struct ksock_msg_hdr
	b = o.AppendUint64(b, h.Cookies[1])   // field ksh_zc_cookies[1] of struct ksock_msg_hdr
	return b, nil
}

// ParseMsgHeader parses one header of a sender of the given byte order and
// returns what follows it. The only error is ErrShort; see Validate.
func ParseMsgHeader(b []byte, bigEndian bool) (h MsgHeader, rest []byte, err error) {
	if len(b) < MsgHeaderSize {
		return MsgHeader{}, b, ErrShort
	}
	o := byteOrder(bigEndian)
	h.BigEndian = bigEndian
	h.Type = MsgType(o.Uint32(b))   // field ksh_type of struct ksock_msg_hdr
	h.Checksum = o.Uint32(b[4:])    // field ksh_csum of struct ksock_msg_hdr
	h.Cookies[0] = o.Uint64(b[8:])  // field ksh_zc_cookies[0] of struct ksock_msg_hdr
	h.Cookies[1] = o.Uint64(b[16:]) // field ksh_zc_cookies[1] of struct ksock_msg_hdr
	return h, b[MsgHeaderSize:], nil
}

// Validate reports a type that is neither NOOP nor LNET (ErrMsgType) and acks
// that no node may send (errAck).
func (h MsgHeader) Validate() error {
	if h.Type != Noop && h.Type != LNet {
		return ErrMsgType
	}
	_, err := h.Acks()
	return err
}

// Request returns the cookie that the receiver has to acknowledge, 0 for none.
func (h MsgHeader) Request() uint64 {
	if h.Type != LNet {
		return 0
	}
	return h.Cookies[0]
}
