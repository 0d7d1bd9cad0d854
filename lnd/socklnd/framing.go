package socklnd

import (
	"encoding/binary"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// framing is the layout of messages on connections of a version:
//
//	version  message header  LNet header
//	1        none            72 bytes
//	2, 3     24 bytes        72 bytes
//	4        24 bytes        96 bytes
//
// Without a message header there are no NOOPs, cookies or checksums.
type framing struct {
	msgSize  int  // size of the message header in bytes
	lnetSize int  // size of the LNet header in bytes
	sums     bool // messages are sent with a checksum
}

// newFraming returns the framing of v. Only version 2 has checksums.
func newFraming(v ksock.Version, sums bool) framing {
	f := framing{msgSize: ksock.MsgHeaderSize, lnetSize: wire.HeaderSize, sums: sums && v == ksock.V2}
	switch v {
	case ksock.V1:
		f.msgSize = 0
	case ksock.V4:
		f.lnetSize = wire.LargeHeaderSize
	}
	return f
}

// overhead is the number of header bytes of each message.
func (f *framing) overhead() int { return f.msgSize + f.lnetSize }

// wireSize is the number of bytes that a message with a payload of length bytes takes.
func (f *framing) wireSize(length int) int { return f.overhead() + length }

// appendHeaders appends the headers of a message that acknowledges a cookie, 0
// for none. The error is wire.ErrLargeNID for a NID that does not fit.
func (f *framing) appendHeaders(b []byte, h *wire.Header, cookie uint64) ([]byte, error) {
	if f.msgSize > 0 {
		k := ksock.MsgHeader{Type: ksock.LNet, Cookies: [2]uint64{0, cookie}}
		b, _ = k.AppendBinary(b) // AppendBinary of this type never returns an error
	}
	if f.lnetSize == wire.LargeHeaderSize {
		return h.AppendLarge(b)
	}
	return h.AppendBinary(b)
}

// parse parses the LNet header at the beginning of b, which must be long enough, into h. The error
// is nid.ErrSize.
func (f *framing) parse(h *wire.Header, b []byte) (err error) {
	if f.lnetSize == wire.LargeHeaderSize {
		*h, _, err = wire.ParseLargeHeader(b)
		return err
	}
	*h, _, err = wire.ParseHeader(b)
	return err
}

// seal computes the checksum of a message, over head and the payload, and puts it into the message
// header, with which head begins.
func (ni *NI) seal(head []byte, payload ...[]byte) {
	sum := ksock.UpdateChecksum(ksock.InitialChecksum, head)
	for _, p := range payload {
		sum = ksock.UpdateChecksum(sum, p)
	}
	if ni.spoilSum.Load() && ni.spoilSum.Swap(false) {
		sum = max(sum+1, 1) // make it wrong as ksocknal_lib_csum_tx does, but not 0, which means no checksum
	}
	binary.LittleEndian.PutUint32(head[4:], sum) // field ksh_csum
}
