//go:build ibverbs && cgo && linux

package ibv

import (
	"encoding/binary"
	"net/netip"
)

// netHeaderSize is the size of the header before a received datagram in its buffer (rocev2
// §10): an IPv6 header, or an IPv4 header in the last 20 bytes.
const netHeaderSize = 40

// netHeader returns the addresses of a datagram that came to a node of family v4 or v6.
// IPv4's header is the one with a good checksum; false means that there is none.
func netHeader(b []byte, v4 bool) (src, dst netip.Addr, ok bool) {
	if len(b) < netHeaderSize {
		return src, dst, false
	}
	if !v4 {
		src, dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
		return src, dst, b[0]>>4 == 6 && !src.Is4In6()
	}
	h := b[20:40]
	if h[0] != 0x45 || checksum(h) != 0xFFFF {
		return src, dst, false
	}
	return netip.AddrFrom4([4]byte(h[12:16])), netip.AddrFrom4([4]byte(h[16:20])), true
}

// checksum returns the checksum of an IPv4 header (RFC 1071), 0xFFFF for a correct one.
func checksum(h []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(h); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	return uint16(sum)
}

// gidOf is the GID of an address: IPv4 as an IPv4-mapped one.
func gidOf(a netip.Addr) [16]byte { return a.As16() }
