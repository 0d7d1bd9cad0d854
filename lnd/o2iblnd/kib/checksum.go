package kib

import "math/bits"

// Counting tells how a checksum counts bytes: the C type char is signed on x86
// before Linux 6.2, and unsigned everywhere from then on.
type Counting bool

// The two ways.
const (
	Unsigned Counting = false
	Signed   Counting = true
)

// checksumAt is where the checksum stands in a message.
const checksumAt = 12

// Checksum returns the checksum of a message of len(b) bytes, whatever its
// checksum field says. It is never 0, which stands for none.
func Checksum(b []byte, c Counting) uint32 {
	var sum uint32
	for i, v := range b {
		if i >= checksumAt && i < checksumAt+4 {
			v = 0
		}
		add := uint32(v)
		if c == Signed {
			add = uint32(int32(int8(v)))
		}
		sum = bits.RotateLeft32(sum, 1) + add
	}
	return max(sum, 1)
}

// VerifyChecksum compares the checksum of the message in b, whose header is h,
// with its bytes, counted either way; none is right too. The error is
// ErrChecksum.
//
// Kernels do not count the payload of an IMMEDIATE that they gather from its
// own pages, and so send a wrong sum: of messages with payload a wrong sum says
// nothing.
func (h *Header) VerifyChecksum(b []byte) error {
	if h.Checksum == 0 {
		return nil
	}
	b = b[:min(uint64(h.Nob), uint64(len(b)))]
	if Checksum(b, Unsigned) != h.Checksum && Checksum(b, Signed) != h.Checksum {
		return ErrChecksum
	}
	return nil
}

// SetChecksum puts the checksum of a message into it.
func SetChecksum(b []byte, bigEndian bool, c Counting) {
	sum := Checksum(b, c)
	byteOrder(bigEndian).AppendUint32(b[checksumAt:checksumAt], sum)
}
