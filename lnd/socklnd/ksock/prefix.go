package ksock

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// First words of a HELLO (LNET_PROTO_TCP_MAGIC, LNET_PROTO_MAGIC).
const (
	MagicV1 uint32 = 0xeebc0ded
	Magic   uint32 = 0x45726963
)

// Sizes in bytes. helloPrefixSize bytes tell how long a HELLO is.
const (
	helloPrefixSize = 8
	HelloV1Size     = 72
	HelloSize       = 56 // size of a HELLO of v2 and v3, without addresses
	HelloV4Size     = 80
)

// MaxAddresses bounds the address list of a HELLO (LNET_INTERFACES_NUM).
const MaxAddresses = 16

// Version is a version of the socklnd protocol.
type Version uint32

// The versions. Kernels begin with V3 over IPv4 and with V4 over IPv6.
const (
	V1 Version = 1
	V2 Version = 2
	V3 Version = 3
	V4 Version = 4
)

// IsValid reports whether v is a version that this package can parse.
func (v Version) IsValid() bool { return v >= V1 && v <= V4 }

// String returns the version's name, such as "v3".
func (v Version) String() string { return fmt.Sprintf("v%d", uint32(v)) }

// helloSize returns the length of a HELLO without its addresses.
func (v Version) helloSize() int {
	switch v {
	case V1:
		return HelloV1Size
	case V4:
		return HelloV4Size
	}
	return HelloSize
}

// Prefix is the beginning of a HELLO, which says how the rest is read.
type Prefix struct {
	Version   Version // version in the bytes, which may be unknown
	BigEndian bool    // the sender is a big-endian host; never true in v1
}

// ParsePrefix parses the first helloPrefixSize bytes of a HELLO. The errors are ErrMagic,
// known as soon as b has 4 bytes, ErrShort, and ErrVersion. With ErrVersion the Prefix is
// valid, and its Version is the unknown one (major<<16 | minor for a v1 magic with another
// version than 1.0).
func ParsePrefix(b []byte) (Prefix, error) {
	if len(b) < 4 {
		return Prefix{}, ErrShort
	}
	magic := binary.LittleEndian.Uint32(b)
	p := Prefix{BigEndian: magic == bits.ReverseBytes32(Magic)}
	if magic != MagicV1 && magic != Magic && !p.BigEndian {
		return Prefix{}, ErrMagic
	}
	if len(b) < helloPrefixSize {
		return Prefix{}, ErrShort
	}
	if magic == MagicV1 {
		return parsePrefixV1(b)
	}
	p.Version = Version(byteOrder(p.BigEndian).Uint32(b[4:]))
	if p.Version < V2 || p.Version > V4 {
		return p, ErrVersion
	}
	return p, nil
}

func parsePrefixV1(b []byte) (Prefix, error) {
	major := binary.LittleEndian.Uint16(b[4:])
	minor := binary.LittleEndian.Uint16(b[6:])
	if major != 1 || minor != 0 {
		return Prefix{Version: Version(major)<<16 | Version(minor)}, ErrVersion
	}
	return Prefix{Version: V1}, nil
}

// NextSize returns how many bytes of a HELLO can be read before the next call, if its first bytes
// are b. The result grows with b: without the version it is the size of the prefix, with the
// version the fixed size of that version, and with the number of addresses the whole size. The
// HELLO is complete when len(b) has reached the result:
//
//	need, err := ksock.NextSize(b)
//	for ; err == nil && len(b) < need; need, err = ksock.NextSize(b) {
//		b = append(b, read(need-len(b))...)
//	}
//
// The errors are ErrMagic, ErrVersion and ErrAddresses; ErrMagic and
// ErrVersion need no more than helloPrefixSize bytes.
func NextSize(b []byte) (int, error) {
	p, err := ParsePrefix(b)
	if err == ErrShort {
		return helloPrefixSize, nil
	}
	if err != nil {
		return 0, err
	}
	size := p.Version.helloSize()
	if len(b) < size {
		return size, nil
	}
	n, err := addressCount(b, p)
	if err != nil {
		return 0, err
	}
	return size + 4*n, nil
}

// addressCount returns the number of addresses that follow the fixed part of
// the HELLO in b.
func addressCount(b []byte, p Prefix) (int, error) {
	switch p.Version {
	case V1:
		size := binary.LittleEndian.Uint32(b[28:])
		if size%4 != 0 || size > 4*MaxAddresses {
			return 0, ErrAddresses
		}
		return int(size / 4), nil
	case V4:
		return 0, nil // kernels never read a list there, whatever nips says
	}
	n := byteOrder(p.BigEndian).Uint32(b[52:])
	if n > MaxAddresses {
		return 0, ErrAddresses
	}
	return int(n), nil
}
