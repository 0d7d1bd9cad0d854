package nid

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// Errors of parsing bytes and text. They are returned wrapped in an error that has the
// invalid text.
var (
	errShort     = errors.New("fewer bytes than a NID has")
	ErrSize      = errors.New("NID claims more than 16 address bytes")
	errNet       = errors.New("unknown network")
	errNetNumber = errors.New("network number above 65535")
	errAddress   = errors.New("not an address of this network")
	errPID       = errors.New("not a process id")
)

// NID names one network interface of a node: an address inside a network. It
// is 20 bytes, comparable with ==; the zero NID is invalid.
type NID struct {
	// head and addr are the words of the extended form (struct lnet_nid):
	// head is size << 24 | type << 16 | number, addr the address. Words and
	// bytes that the address does not use are zero. The wildcard has all
	// bits set, and nothing else has type 0xFF.
	head uint32
	addr [4]uint32
}

const allOnes = 1<<32 - 1

// Any returns the wildcard (LNET_NID_ANY). It is never the source or
// destination of a message.
func Any() NID {
	return NID{allOnes, [4]uint32{allOnes, allOnes, allOnes, allOnes}}
}

// Lo0 returns 0@lo (LNET_NID_LO_0), the name every node has for itself.
func Lo0() NID { return NID{head: uint32(Lo) << 16} }

// From4 returns the NID with the nid4 v; all ones are the wildcard. Like LNet
// it ignores the top byte, which is zero in every NID that fits.
func From4(v uint64) NID {
	if NetType(v>>48) == anyType {
		return Any()
	}
	return NID{head: uint32(v>>32) & 0xFFFFFF, addr: [4]uint32{uint32(v)}}
}

// FromAddr returns the NID of IP address a in network net. An IPv4-mapped IPv6
// address counts as IPv4, a zone is dropped. The result is the zero NID if a
// is not valid, or if net has no such addresses: only networks of type TCP have
// IPv6 addresses.
func FromAddr(net Net, a netip.Addr) NID {
	a = a.Unmap()
	text := net.Type().text().addr
	if a.Is4() && (text == textIP || text == textIPv4) || a.Is6() && text == textIP {
		return fromIP(net, a)
	}
	return NID{}
}

func fromIP(net Net, a netip.Addr) NID {
	n := NID{head: net.value}
	if a.Is4() {
		b := a.As4()
		n.addr[0] = binary.BigEndian.Uint32(b[:])
		return n
	}
	b := a.As16()
	n.head |= 12 << 24
	for i := range n.addr {
		n.addr[i] = binary.BigEndian.Uint32(b[4*i:])
	}
	return n
}

// FromNumber returns the NID with address number in network net, which may be of
// any type. In a loopback network the address is always 0, whatever number is.
func FromNumber(net Net, number uint32) NID {
	if net.IsAny() {
		return Any()
	}
	if net.Type() == Lo {
		number = 0
	}
	return NID{head: net.value, addr: [4]uint32{number}}
}

// Value4 returns n as a nid4. It returns all ones for the wildcard. If n does not fit (see Is4)
// it returns 0, which stands for no NID.
func (n NID) Value4() uint64 {
	if n.Is4() {
		return uint64(n.head)<<32 | uint64(n.addr[0])
	}
	if n.IsAny() {
		return 1<<64 - 1
	}
	return 0
}

// Is4 reports whether n has a 4-byte address and so fits a nid4. The zero NID
// does, as 0; the wildcard has no address but fits all the same: see IsAny.
func (n NID) Is4() bool { return n.head>>24 == 0 }

// IsAny reports whether n is the wildcard NID.
func (n NID) IsAny() bool { return n.head == allOnes }

// IsOne reports whether n names one interface: it is valid, and not the wildcard. It takes a pointer as Hash does.
func (n *NID) IsOne() bool { return n.head>>16&0xFF != 0 && n.head != allOnes }

// IsLo reports whether n is 0@lo.
func (n NID) IsLo() bool { return n == Lo0() }

// IsValid reports whether n has a network type, known or not. The wildcard is
// valid.
func (n NID) IsValid() bool { return n.typ() != 0 }

// Net returns the network of n, anyNet for the wildcard.
func (n NID) Net() Net { return netFromValue(n.head) }

// Number returns the address as an integer. For a network whose addresses are numbers, that is
// the number; for an IPv4 address, its four bytes with the first octet as the highest; for a
// longer address, its first four bytes.
func (n NID) Number() uint32 { return n.addr[0] }

// Hash returns a hash of the address. Its low bits differ for consecutive addresses of a network.
// It takes a pointer because a NID that was just written stalls the processor when it is copied.
func (n *NID) Hash() uint32 { return n.addr[0] ^ n.addr[1] ^ n.addr[2] ^ n.addr[3] }

// Addr returns the IP address of n, or the zero Addr if its address is not one
// that FromAddr takes.
func (n NID) Addr() netip.Addr {
	text := n.typ().text().addr
	switch {
	case n.Is4() && (text == textIP || text == textIPv4):
		return netip.AddrFrom4([4]byte(n.appendAddr(make([]byte, 0, 16))))
	case n.AddrLen() == 16 && text == textIP:
		return netip.AddrFrom16([16]byte(n.appendAddr(make([]byte, 0, 16))))
	}
	return netip.Addr{}
}

// AddrLen returns the length of the address in bytes, 4 to 16.
func (n NID) AddrLen() int {
	if n.IsAny() {
		return 16
	}
	return int(n.head>>24) + 4
}

// Compare orders NIDs by length, network and address, which is LNet's order of
// the nid4 as integers; the wildcard comes last.
func (n NID) Compare(m NID) int {
	if n.head != m.head {
		return compare(n.head, m.head)
	}
	for i := range n.addr {
		if n.addr[i] != m.addr[i] {
			return compare(n.addr[i], m.addr[i])
		}
	}
	return 0
}

func compare(a, b uint32) int {
	if a < b {
		return -1
	}
	return 1
}

func (n NID) typ() NetType { return NetType(n.head >> 16) }

// appendAddr appends the bytes of the address.
func (n NID) appendAddr(b []byte) []byte {
	end := len(b) + n.AddrLen()
	for _, word := range n.addr {
		b = binary.BigEndian.AppendUint32(b, word)
	}
	return b[:end]
}
