package ibta

import (
	"encoding/binary"
	"net/netip"
)

// GID is the address of a port: over RoCEv2 an IPv6 address, or an IPv4
// address mapped to one.
type GID [16]byte

// GIDFrom returns the GID of an IP address without its zone; of the zero Addr
// the zero GID.
func GIDFrom(a netip.Addr) GID {
	if !a.IsValid() {
		return GID{}
	}
	return a.As16()
}

// Addr returns the IP address of g, unmapped.
func (g GID) Addr() netip.Addr { return netip.AddrFrom16(g).Unmap() }

// String returns the text of the IP address.
func (g GID) String() string { return g.Addr().String() }

// GUID is the number of a channel adapter.
type GUID uint64

// UDHeaderSize is the size of the network header that precedes the data of a datagram in the
// receiver's buffer.
const UDHeaderSize = 40

// UDHeader has the fields of a received datagram's network header that are used. IPv6 fills
// the 40 bytes with its header; IPv4 the last 20, and what precedes them is unspecified.
type UDHeader struct {
	Src, Dst     netip.Addr // of the packet
	TrafficClass uint8      // the TOS byte
	HopLimit     uint8      // as it arrived
}

// ParseUDHeader parses the beginning of a receive buffer. The error is ErrShort. A header
// that begins like neither version of IP is taken for IPv4: the byte in which IPv6 has its
// version is unspecified before an IPv4 header.
func ParseUDHeader(b []byte) (h UDHeader, rest []byte, err error) {
	if len(b) < UDHeaderSize {
		return UDHeader{}, b, ErrShort
	}
	v4 := b[UDHeaderSize-IPv4Size:]
	if v4[0] == 0x45 && b[0]>>4 != 6 {
		h.TrafficClass, h.HopLimit = v4[1], v4[8]
		h.Src, h.Dst = netip.AddrFrom4([4]byte(v4[12:])), netip.AddrFrom4([4]byte(v4[16:]))
	} else {
		h.TrafficClass, h.HopLimit = uint8(binary.BigEndian.Uint16(b)>>4), b[7]
		h.Src, h.Dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	}
	return h, b[UDHeaderSize:], nil
}

// AppendTo appends the 40 bytes for a datagram of n bytes behind the IP
// header. The IPv4 checksum is left 0.
func (h *UDHeader) AppendTo(b []byte, n int) []byte {
	src, dst := h.Src.Unmap(), h.Dst.Unmap()
	if src.Is4() && dst.Is4() {
		s, d := src.As4(), dst.As4()
		b = append(b, make([]byte, UDHeaderSize-IPv4Size)...)
		b = append(b, 0x45, h.TrafficClass)
		b = binary.BigEndian.AppendUint16(b, uint16(IPv4Size+n))
		b = append(b, 0, 0, byte(DontFragment>>8), 0, h.HopLimit, protocolUDP, 0, 0)
		return append(append(b, s[:]...), d[:]...)
	}
	s, d := src.As16(), dst.As16()
	b = binary.BigEndian.AppendUint32(b, 6<<28|uint32(h.TrafficClass)<<20)
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	b = append(b, protocolUDP, h.HopLimit)
	return append(append(b, s[:]...), d[:]...)
}

// SourcePort returns the UDP source port of packets between two queue pairs as Linux chooses
// it: it spreads packets over routes and has no meaning for the receiver. flow is the 20-bit
// flow label of the path; with 0 it is computed from the numbers.
func SourcePort(flow uint32, local, remote QPN) uint16 {
	const labelBits = 20
	if flow &= 1<<labelBits - 1; flow == 0 {
		v := uint64(local) * uint64(remote)
		v ^= v >> 20
		v ^= v >> 40
		flow = uint32(v) & (1<<labelBits - 1)
	}
	return uint16(flow&0x3FFF^flow>>14) | 0xC000
}
