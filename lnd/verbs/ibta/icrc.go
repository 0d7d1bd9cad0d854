package ibta

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
)

// Sizes in bytes of the headers below the BTH: IPv4 without options.
const (
	IPv4Size = 20
	IPv6Size = 40
	UDPSize  = 8
)

// DontFragment is the flags field of IPv4 with DF set, as on every RoCE packet.
const DontFragment uint16 = 0x4000

// linkHeader is the state after the eight bytes 0xFF that stand for the link
// header, which RoCE does not have.
const linkHeader = 0xDEBB20E3

// ICRC returns the invariant CRC of a packet from its bytes on the wire: the IP header, the UDP
// header, and the packet from its BTH to its padding. Fields that routers change count as ones:
// traffic class, hop limit, IPv6's flow label, IPv4's and UDP's checksums, and the fifth byte
// of the BTH (annex A17 §17.3.3). It is there for captures; senders and receivers use a Path.
//
// The error is ErrShort, also for an IPv4 header with options.
func ICRC(ip, udp, b []byte) (uint32, error) {
	if len(ip) == 0 || len(udp) != UDPSize || len(b) < BTHSize {
		return 0, ErrShort
	}
	v6 := ip[0]>>4 == 6
	if v6 && len(ip) != IPv6Size || !v6 && len(ip) != IPv4Size {
		return 0, ErrShort
	}
	var masked [IPv6Size]byte
	copy(masked[:], ip)
	if v6 {
		masked[0] |= 0x0F
		masked[1], masked[2], masked[3], masked[7] = 0xFF, 0xFF, 0xFF, 0xFF
	} else {
		masked[1], masked[8], masked[10], masked[11] = 0xFF, 0xFF, 0xFF, 0xFF
	}
	s := update(linkHeader, masked[:len(ip)])
	s = update(s, udp[:6])
	s = update(s, []byte{0xFF, 0xFF})
	s = update(s, b[:4])
	s = update(s, []byte{0xFF})
	return crc32.Update(^s, crc32.IEEETable, b[5:]), nil
}

// Path is the state of an ICRC calculation after the headers below the BTH, for packets from one
// UDP endpoint to another. It has 8 bytes, and spares the calculation over these headers for each
// packet.
type Path struct {
	base uint32 // state after the headers, with lengths and identification 0
	v6   bool
}

// NewPath returns the path from src to dst, with the ports that packets have on the wire: dst has
// Port. Both addresses are IPv4 (mapped addresses too) or both IPv6. Packets over IPv4 have DF set
// and no options, those over IPv6 no extension header.
func NewPath(src, dst netip.AddrPort) Path {
	fillShifted()
	from, to := src.Addr().Unmap(), dst.Addr().Unmap()
	var h [IPv6Size + UDPSize]byte
	b := h[:0]
	if from.Is4() && to.Is4() {
		s, d := from.As4(), to.As4()
		b = append(b, 0x45, 0xFF, 0, 0, 0, 0)
		b = binary.BigEndian.AppendUint16(b, DontFragment)
		b = append(b, 0xFF, protocolUDP, 0xFF, 0xFF)
		b = append(append(b, s[:]...), d[:]...)
	} else {
		s, d := from.As16(), to.As16()
		b = append(b, 0x6F, 0xFF, 0xFF, 0xFF, 0, 0, protocolUDP, 0xFF)
		b = append(append(b, s[:]...), d[:]...)
	}
	b = binary.BigEndian.AppendUint16(b, src.Port())
	b = binary.BigEndian.AppendUint16(b, dst.Port())
	b = append(b, 0, 0, 0xFF, 0xFF)
	return Path{update(linkHeader, b), !from.Is4() || !to.Is4()}
}

const protocolUDP = 17

// Positions of the length fields and of the identification: the number of bytes from
// behind each field to the end of the UDP header.
const (
	afterTotalLength   = IPv4Size + UDPSize - 4
	afterID            = IPv4Size + UDPSize - 6
	afterPayloadLength = IPv6Size + UDPSize - 6
	afterUDPLength     = 2
)

// headers returns the state after the headers of a packet whose UDP payload
// has n bytes.
func (p Path) headers(id uint16, n int) uint32 {
	udp := uint16(n + UDPSize)
	s := p.base ^ add16(udp, afterUDPLength)
	if p.v6 {
		return s ^ add16(udp, afterPayloadLength)
	}
	return s ^ add16(udp+IPv4Size, afterTotalLength) ^ add16(id, afterID)
}

// ICRC returns the ICRC of a packet b, from its BTH to its padding, at least
// BTHSize bytes. id is the IPv4 identification; IPv6 has none.
func (p Path) ICRC(id uint16, b []byte) uint32 {
	return ^updateLong(addBTH(p.headers(id, len(b)+ICRCSize), b), b[BTHSize:])
}

// AppendICRC appends its ICRC to a packet that begins at b[0].
func (p Path) AppendICRC(id uint16, b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, p.ICRC(id, b))
}

// Check reports whether packet b, the payload of a UDP datagram, ends with its
// ICRC.
func (p Path) Check(id uint16, b []byte) bool {
	n := len(b) - ICRCSize
	return n >= BTHSize && p.ICRC(id, b[:n]) == binary.LittleEndian.Uint32(b[n:])
}

// CheckAny reports whether packet b ends with its ICRC for some IPv4 identification, and for
// which. Sockets do not report the identification, but the ICRC covers it, and because CRCs
// are linear it can be computed from the ICRC. That uses half of the ICRC: of packets damaged
// at random one in 65536 passes. Over IPv6 CheckAny is as strict as Check, and the
// identification is 0.
func (p Path) CheckAny(b []byte) (id uint16, ok bool) { return p.CheckNear(0, b) }

// CheckNear does what CheckAny does, with a likely identification, such as the index of a datagram
// among several that arrived joined. If that identification fits, nothing has to be computed.
func (p Path) CheckNear(likely uint16, b []byte) (id uint16, ok bool) {
	n := len(b) - ICRCSize
	if n < BTHSize || n > maxUnshift-afterID {
		return 0, false
	}
	diff := p.ICRC(likely, b[:n]) ^ binary.LittleEndian.Uint32(b[n:])
	if p.v6 {
		return 0, diff == 0
	}
	if diff == 0 {
		return likely, true
	}
	// The difference between the identification's two bytes and the likely ones, moved back
	// to their position.
	s := multiply(inverses()[n+afterID], diff)
	id = identification(s)
	return id ^ likely, add16(id, 0) == s
}

// identification returns the only two bytes that turn state 0 into s.
func identification(s uint32) uint16 {
	second := producer[s>>24] // index into the table of the second step
	first := producer[(s^crc32.IEEETable[second])<<8>>24]
	return uint16(first)<<8 | uint16(second^byte(crc32.IEEETable[first]))
}
