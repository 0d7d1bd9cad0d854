package kib

import (
	"encoding/binary"
	"math/bits"
)

// byteOrder reads and writes numbers in the order of a sender: true is
// big-endian. Unlike the values of encoding/binary it needs no interface, so
// the caller's buffers can stay on the stack.
type byteOrder bool

func (big byteOrder) Uint16(b []byte) uint16 { return big.swap16(binary.LittleEndian.Uint16(b)) }

func (big byteOrder) Uint32(b []byte) uint32 { return big.swap32(binary.LittleEndian.Uint32(b)) }

func (big byteOrder) Uint64(b []byte) uint64 { return big.swap64(binary.LittleEndian.Uint64(b)) }

func (big byteOrder) AppendUint16(b []byte, v uint16) []byte {
	return binary.LittleEndian.AppendUint16(b, big.swap16(v))
}

func (big byteOrder) AppendUint32(b []byte, v uint32) []byte {
	return binary.LittleEndian.AppendUint32(b, big.swap32(v))
}

func (big byteOrder) AppendUint64(b []byte, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(b, big.swap64(v))
}

func (big byteOrder) swap16(v uint16) uint16 {
	if big {
		return bits.ReverseBytes16(v)
	}
	return v
}

func (big byteOrder) swap32(v uint32) uint32 {
	if big {
		return bits.ReverseBytes32(v)
	}
	return v
}

func (big byteOrder) swap64(v uint64) uint64 {
	if big {
		return bits.ReverseBytes64(v)
	}
	return v
}
