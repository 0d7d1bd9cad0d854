package capture

import (
	"encoding/binary"
	"math"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/wire"
)

// concealer replaces the payload of the messages of one side of a connection by zeros,
// for viewers that may see headers alone. Lengths and positions stay, so that decoders follow
// the connection as before; checksums become "none". Bytes that it cannot interpret become
// zeros as well. The zero value is ready for the beginning of a connection.
type concealer struct {
	opening tapHalf // the handshake of this side
	header  []byte  // header of the message in progress, as far as it has come
	left    uint64  // payload bytes of the message in progress that are to come
	out     []byte  // what conceal returned last; the next call reuses it
}

// conceal returns b, the next bytes of a side, with zeros in place of payload. The result is
// valid until the next call.
func (c *concealer) conceal(side Side, b []byte) []byte {
	c.out = append(c.out[:0], b...)
	rest := c.out
	if c.opening.state == handshakeOpen {
		before := len(c.opening.head)
		c.opening.track(side, b)
		if c.opening.state == handshakeBad {
			clear(rest)
		}
		rest = rest[min(len(rest), max(0, len(c.opening.head)-before)):]
	}
	for len(rest) > 0 && c.opening.state != handshakeOpen {
		if c.left > 0 || c.opening.state == handshakeBad {
			n := len(rest)
			if c.opening.state == handshakeDone {
				n = int(min(c.left, uint64(n)))
				c.left -= uint64(n)
			}
			clear(rest[:n])
			rest = rest[n:]
			continue
		}
		rest = c.take(rest)
	}
	return c.out
}

// take moves header bytes of the message in progress to c.header and returns what
// follows them.
func (c *concealer) take(b []byte) []byte {
	h := &c.opening.half
	n := min(len(b), h.concealHeader(c.header)-len(c.header))
	c.header = append(c.header, b[:n]...)
	if h.framed() { // clear ksm_csum, bytes 4 to 7
		first := len(c.header) - n
		for i := max(4, first); i < min(8, len(c.header)); i++ {
			b[i-first] = 0
		}
	}
	if len(c.header) == h.concealHeader(c.header) {
		c.left = h.payloadLength(c.header)
		c.header = c.header[:0]
	}
	return b[n:]
}

// concealHeader returns the length of the headers of a message that begins with b, as
// far as b tells: a NOOP ends with the ksock header.
func (h *half) concealHeader(b []byte) int {
	if h.framed() {
		k, _, err := ksock.ParseMsgHeader(b, h.bigEndian)
		if err != nil || k.Type != ksock.LNet {
			return ksock.MsgHeaderSize
		}
	}
	return h.headerSize()
}

// payloadLength returns how many bytes follow the headers b of a message. If b has no valid
// headers it returns the largest number, so that all further bytes count as payload.
func (h *half) payloadLength(b []byte) uint64 {
	if h.framed() {
		k, _, err := ksock.ParseMsgHeader(b, h.bigEndian)
		switch {
		case err == nil && k.Type == ksock.Noop:
			return 0
		case err != nil || k.Type != ksock.LNet:
			return math.MaxUint64
		}
		b = b[ksock.MsgHeaderSize:]
	}
	parse := wire.ParseHeader
	if h.large() {
		parse = wire.ParseLargeHeader
	}
	header, _, err := parse(b)
	if err != nil || header.Validate() != nil {
		return math.MaxUint64
	}
	return uint64(header.PayloadLength)
}

// concealDatagram returns a multicast datagram without its payload.
func concealDatagram(pieces [][]byte) []byte {
	var b []byte
	for _, p := range pieces {
		b = append(b, p...)
	}
	clear(b[min(len(b), datagramHeaders(b)):])
	return b
}

// datagramHeaders returns the length of what precedes the payload of a datagram.
func datagramHeaders(b []byte) int {
	if len(b) < wire.DatagramPrefixSize {
		return 0
	}
	size := int(binary.LittleEndian.Uint16(b[6:]))
	if size != wire.HeaderSize && size != wire.LargeHeaderSize {
		return 0
	}
	return wire.DatagramPrefixSize + size
}

// concealPacket returns a packet of RoCEv2 without the payload of LNet and the keys of
// memory, and with a correct ICRC. Messages of the connection manager stay as they are, with the
// private data that o2iblnd has in them.
func concealPacket(p lnd.Packet) []byte {
	b := append([]byte(nil), p.Bytes...)
	bth, _, err := ibta.ParseBTH(b)
	end := len(b) - ibta.ICRCSize
	begin := ibta.BTHSize
	switch {
	case err != nil || end < begin:
		clear(b)
		return b
	case bth.DestQP == 1: // queue pair 1, general services: the connection manager
		return b
	case bth.OpCode.IsKnown():
		begin = min(bth.OpCode.HeaderSize(), end)
	}
	if bth.OpCode.IsWrite() && bth.OpCode.IsFirst() {
		clear(b[ibta.BTHSize:begin][:12]) // RETH: clear the address and the key
	}
	keep := 0
	switch payload := b[begin:end]; {
	case bth.OpCode.IsUD():
		keep = datagramHeaders(payload)
	case bth.OpCode.IsSend() && bth.OpCode.IsFirst():
		keep = concealKib(payload)
	case bth.OpCode == ibta.Acknowledge || bth.OpCode == ibta.CNP:
		keep = len(payload)
	}
	clear(b[begin:end][min(keep, end-begin):])
	path := ibta.NewPath(p.From, p.To)
	binary.LittleEndian.PutUint32(b[end:], path.ICRC(p.ID, b[:end]))
	return b
}

// concealKib removes the checksum and the keys and addresses of memory from a message
// of o2iblnd, and returns how many of its bytes may be seen: all but the payload of an
// IMMEDIATE.
func concealKib(b []byte) int {
	const checksum, cookie = 12, 8
	if len(b) < kib.HeaderSize {
		return 0
	}
	clear(b[checksum:][:4])
	switch kib.MsgType(b[6]) {
	case kib.Immediate:
		return kib.ImmediateSize
	case kib.GetReq:
		concealDesc(b[min(len(b), kib.ImmediateSize+cookie):])
	case kib.PutAck:
		concealDesc(b[min(len(b), kib.HeaderSize+2*cookie):])
	case kib.PutReq, kib.PutNak, kib.PutDone, kib.GetDone, kib.Noop:
	default:
		return kib.HeaderSize
	}
	return len(b)
}

// concealDesc removes the key and the addresses from a description of memory (struct
// kib_rdma_desc): a key, a count, and for each fragment a length and an address.
func concealDesc(b []byte) {
	const key, count, length, address = 4, 4, 4, 8
	clear(b[:min(len(b), key)])
	for frags := b[min(len(b), key+count):]; len(frags) > length; {
		frags = frags[length:]
		n := min(len(frags), address)
		clear(frags[:n])
		frags = frags[n:]
	}
}
