// Package headers reads the headers of IP, TCP and UDP for package capture. Most programs need no other
// headers, and gopacket/layers, which knows several hundred protocols, takes 6 MB and tens of
// milliseconds of each process that is linked with it.
package headers

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// The numbers of the protocols above IP that package capture reads.
const (
	ProtocolTCP      = 6
	ProtocolUDP      = 17
	ProtocolFragment = 44 // the extension header of IPv6 for fragments
)

// ErrHeader means a header that cannot be read, or that has parts which this package does not know,
// and ErrFragment a fragment of IPv4.
var (
	ErrHeader   = errors.New("header cannot be read")
	ErrFragment = errors.New("packet is a fragment of another one")
)

// IP is the header of a packet of IPv4 or IPv6.
type IP struct {
	Src, Dst netip.Addr // addresses; invalid: there is no IP header
	Protocol uint8      // protocol of what follows the header
	ID       uint16     // identification; IPv6: 0
	Header   []byte     // bytes of the header, without the extension headers of IPv6
	Payload  []byte     // bytes behind the header, as far as they were captured
	Cut      bool       // the end of the packet was not captured
}

// ParseIP reads the header of a packet. The error is ErrFragment for a fragment of IPv4, and ErrHeader
// for any header that ParseIP cannot read. It reads no extension headers of IPv6: if there are any,
// Protocol is the number of the first one. The result refers to b.
func ParseIP(b []byte) (IP, error) {
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		return parseIPv4(b)
	case len(b) >= 40 && b[0]>>4 == 6:
		return parseIPv6(b)
	}
	return IP{}, ErrHeader
}

// parseIPv4 reads a header (RFC 791 section 3.1). A length of 0 stands for all of b: the network card
// will divide the packet after the point of capture, and set the lengths then.
func parseIPv4(b []byte) (ip IP, err error) {
	const fragment = 0x3FFF // the flag "more fragments", and the offset
	header, length := int(b[0]&0x0F)*4, int(binary.BigEndian.Uint16(b[2:]))
	if length == 0 {
		length = len(b) & 0xFFFF
	}
	if header < 20 || header > length || header > len(b) || !optionsValid(b[20:header], 3) {
		return ip, ErrHeader
	}
	if binary.BigEndian.Uint16(b[6:])&fragment != 0 {
		return ip, ErrFragment
	}
	ip = IP{ID: binary.BigEndian.Uint16(b[4:]), Protocol: b[9], Cut: length > len(b)}
	ip.Src, ip.Dst = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
	ip.Header, ip.Payload = b[:header], b[header:min(length, len(b))]
	return ip, nil
}

// parseIPv6 reads a header (RFC 8200 section 3). Jumbograms have length 0 and an extension header.
func parseIPv6(b []byte) (ip IP, err error) {
	length := int(binary.BigEndian.Uint16(b[4:]))
	if length == 0 {
		return ip, ErrHeader
	}
	ip = IP{Protocol: b[6], Cut: length > len(b)-40, Header: b[:40], Payload: b[40:min(40+length, len(b))]}
	ip.Src, ip.Dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	return ip, nil
}

// optionsValid reports whether options of IPv4 or TCP can be read. The end of the list (0) and padding (1)
// are one byte each. Any other option has its length in its second byte, which must not be below the
// parameter least.
func optionsValid(b []byte, least int) bool {
	for len(b) > 0 && b[0] != 0 {
		n := 1
		if b[0] != 1 {
			if len(b) < 2 || int(b[1]) < least || int(b[1]) > len(b) {
				return false
			}
			n = int(b[1])
		}
		b = b[n:]
	}
	return true
}

// TCP is a TCP segment.
type TCP struct {
	SrcPort, DstPort   uint16 // ports
	Seq, Ack           uint32 // sequence number of the first byte, and number of the byte that is expected from the other side
	FIN, SYN, RST, ACK bool   // flags
	Window             uint16 // size of the receive window, without its scale
	Options            []byte // options of the header
	Payload            []byte // data, as far as it was captured
}

// WindowScale returns by how many bits the windows of the sender are to be shifted (RFC 7323), if the segment is a SYN. It
// returns false if the sender does not scale them.
func (t *TCP) WindowScale() (shift int, ok bool) {
	const kind, size, largest = 3, 3, 14
	for b := t.Options; len(b) > 1 && b[0] != 0; {
		switch {
		case b[0] == 1:
			b = b[1:]
		case b[0] == kind && b[1] == size && len(b) >= size:
			return min(int(b[2]), largest), true
		default:
			b = b[min(len(b), max(1, int(b[1]))):]
		}
	}
	return 0, false
}

// The flags of the header of TCP, in its byte 13.
const (
	FIN = 1 << iota
	SYN
	rst
	PSH
	ACK
)

// ParseTCP reads a segment (RFC 9293 section 3.1). The result refers to b.
func ParseTCP(b []byte) (t TCP, err error) {
	if len(b) < 20 {
		return t, ErrHeader
	}
	header := int(b[12]>>4) * 4
	if header < 20 || header > len(b) || !optionsValid(b[20:header], 2) {
		return t, ErrHeader
	}
	flags := b[13]
	return TCP{
		SrcPort: binary.BigEndian.Uint16(b), DstPort: binary.BigEndian.Uint16(b[2:]),
		Seq: binary.BigEndian.Uint32(b[4:]), Ack: binary.BigEndian.Uint32(b[8:]),
		FIN: flags&FIN != 0, SYN: flags&SYN != 0, RST: flags&rst != 0, ACK: flags&ACK != 0,
		Window: binary.BigEndian.Uint16(b[14:]), Options: b[20:header], Payload: b[header:],
	}, nil
}

// UDP is a UDP datagram.
type UDP struct {
	SrcPort, DstPort uint16 // ports
	Length           int    // length that the header gives, of header and payload
	Header           []byte // header, of 8 bytes
	Payload          []byte // data, as far as it was captured
	Cut              bool   // the end of the payload was not captured
}

// ParseUDP reads a datagram (RFC 768). Length 0 stands for all of b. The result refers to b.
func ParseUDP(b []byte) (u UDP, err error) {
	if len(b) < 8 {
		return u, ErrHeader
	}
	u = UDP{SrcPort: binary.BigEndian.Uint16(b), DstPort: binary.BigEndian.Uint16(b[2:]), Length: int(binary.BigEndian.Uint16(b[4:])), Header: b[:8]}
	switch {
	case u.Length == 0:
		u.Payload = b[8:]
	case u.Length < 8:
		return u, ErrHeader
	default:
		u.Cut, u.Payload = u.Length > len(b), b[8:min(u.Length, len(b))]
	}
	return u, nil
}

// Packet is what was found in a packet.
type Packet struct {
	IP  IP   // header of IP
	TCP *TCP // segment; nil: none
	UDP *UDP // datagram; nil: none
	// If TCP and UDP are nil: the packet is a fragment of IP, or its headers cannot be read.
	Fragment, Malformed bool
}

// Unusual reads packets that are not plain: other link types, tags of VLANs, tunnels, extension
// headers. Package encap sets it. Nil: such packets are only counted.
var Unusual func(link uint16, data []byte) Packet
