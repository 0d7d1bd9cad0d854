package headers

import (
	"encoding/binary"
	"net/netip"
)

// Envelope has the fields of the headers around a payload.
type Envelope struct {
	From, To netip.AddrPort // IP addresses, both of the same version, and ports
	TOS      uint8          // type of service, or traffic class
	TTL      uint8          // time to live, or hop limit
	ID       uint16         // identification of IPv4, with DF set; IPv6 has none
}

// AppendTCP appends a packet with the headers of IP and TCP, without options, and correct
// checksums. The window is the largest one.
func (e Envelope) AppendTCP(b []byte, seq, ack uint32, flags uint8, payload []byte) []byte {
	b, at := e.appendIP(b, ProtocolTCP, 20+len(payload))
	b = e.appendPorts(b)
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint32(b, ack)
	b = append(b, 5<<4, flags, 0xFF, 0xFF, 0, 0, 0, 0)
	b = append(b, payload...)
	binary.BigEndian.PutUint16(b[at+16:], e.checksum(b[at:], ProtocolTCP))
	return b
}

// AppendUDP appends a packet with the headers of IP and UDP and correct checksums.
func (e Envelope) AppendUDP(b []byte, pieces ...[]byte) []byte {
	size := 8
	for _, p := range pieces {
		size += len(p)
	}
	b, at := e.appendIP(b, ProtocolUDP, size)
	b = e.appendPorts(b)
	b = binary.BigEndian.AppendUint16(b, uint16(size))
	b = append(b, 0, 0)
	for _, p := range pieces {
		b = append(b, p...)
	}
	sum := e.checksum(b[at:], ProtocolUDP)
	if sum == 0 { // a checksum of 0 would mean that there is none (RFC 768)
		sum = 0xFFFF
	}
	binary.BigEndian.PutUint16(b[at+6:], sum)
	return b
}

// appendIP appends the IP header of a packet that has size bytes after this header. at is the offset at
// which these bytes begin.
func (e Envelope) appendIP(b []byte, protocol uint8, size int) (_ []byte, at int) {
	from, to := e.From.Addr(), e.To.Addr()
	if !from.Is4() || !to.Is4() {
		src, dst := from.As16(), to.As16()
		b = append(b, 0x60|e.TOS>>4, e.TOS<<4, 0, 0)
		b = binary.BigEndian.AppendUint16(b, uint16(size))
		b = append(b, protocol, e.TTL)
		b = append(append(b, src[:]...), dst[:]...)
		return b, len(b)
	}
	const dontFragment = 0x4000
	src, dst := from.As4(), to.As4()
	begin := len(b)
	b = append(b, 0x45, e.TOS)
	b = binary.BigEndian.AppendUint16(b, uint16(20+size))
	b = binary.BigEndian.AppendUint16(b, e.ID)
	b = binary.BigEndian.AppendUint16(b, dontFragment)
	b = append(b, e.TTL, protocol, 0, 0)
	b = append(append(b, src[:]...), dst[:]...)
	binary.BigEndian.PutUint16(b[begin+10:], fold(sum(0, b[begin:])))
	return b, len(b)
}

func (e Envelope) appendPorts(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, e.From.Port())
	return binary.BigEndian.AppendUint16(b, e.To.Port())
}

// checksum returns the checksum of a segment or datagram, with the pseudo-header (RFC 9293 section 3.1,
// RFC 8200 section 8.1).
func (e Envelope) checksum(b []byte, protocol uint8) uint16 {
	from, to := e.From.Addr(), e.To.Addr()
	s := uint64(protocol) + uint64(len(b))
	if from.Is4() && to.Is4() {
		src, dst := from.As4(), to.As4()
		s = sum(sum(s, src[:]), dst[:])
	} else {
		src, dst := from.As16(), to.As16()
		s = sum(sum(s, src[:]), dst[:])
	}
	return fold(sum(s, b))
}

// sum adds the 16-bit words of b to s, two of them at once as a number of 32 bits; fold then adds up the
// halves. The last word may lack its second byte.
func sum(s uint64, b []byte) uint64 {
	for ; len(b) >= 4; b = b[4:] {
		s += uint64(binary.BigEndian.Uint32(b))
	}
	if len(b) >= 2 {
		s += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) > 0 {
		s += uint64(b[0]) << 8
	}
	return s
}

// fold makes the checksum of a sum: it adds carries to the lower 16 bits, and returns the complement.
func fold(s uint64) uint16 {
	for s > 0xFFFF {
		s = s>>16 + s&0xFFFF
	}
	return ^uint16(s)
}
