package kib

import "math/bits"

// Counting tells how a checksum counts bytes: the C type char is signed on x86
// before Linux 6.2, and unsigned everywhere from then on. A kernel checks checksums
// by its own counting alone.
type Counting uint8

// The two ways to count bytes. The zero value means that the way is not known yet.
const (
	Unknown Counting = iota
	Unsigned
	Signed
)

// String returns "unknown", "unsigned" or "signed".
func (c Counting) String() string { return [...]string{"unknown", "unsigned", "signed"}[c] }

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

// VerifyChecksum checks the checksum of the message in b, whose header is h. It accepts the
// checksum of either counting, and messages without one; the error is ErrChecksum.
//
// A kernel that gathers the payload of an IMMEDIATE from several pages leaves these bytes out of
// its sum. So a wrong checksum of a message with payload does not prove that the message is
// damaged.
func (h *Header) VerifyChecksum(b []byte) error {
	if h.Checksum == 0 {
		return nil
	}
	b = h.counted(b)
	if Checksum(b, Unsigned) != h.Checksum && Checksum(b, Signed) != h.Checksum {
		return ErrChecksum
	}
	return nil
}

// counted is the part of b that the checksum covers.
func (h *Header) counted(b []byte) []byte { return b[:min(uint64(h.Nob), uint64(len(b)))] }

// CountingOf returns how the sender of the message in b, whose header is h, computes checksums:
// the Counting that gives the message's checksum. It is Unknown if the message has none, or
// neither way gives it.
func (h *Header) CountingOf(b []byte) Counting {
	if h.Checksum == 0 {
		return Unknown
	}
	b = h.counted(b)
	for _, c := range [...]Counting{Unsigned, Signed} {
		if Checksum(b, c) == h.Checksum {
			return c
		}
	}
	return Unknown
}

// eitherMark follows a CONNACK whose sender checks checksums either way. Receivers that
// do not know it ignore what is behind a message, as they must: private data is padded.
const eitherMark = "sum?"

// AppendEither appends to a CONNACK that its sender accepts checksums over signed and over unsigned bytes.
func AppendEither(b []byte) []byte { return append(b, eitherMark...) }

// TakesEither reports whether the sender of the CONNACK in b, whose header is h, accepts checksums
// over signed and over unsigned bytes.
func (h *Header) TakesEither(b []byte) bool {
	return uint64(len(b)) >= uint64(h.Nob)+uint64(len(eitherMark)) && string(b[h.Nob:][:len(eitherMark)]) == eitherMark
}

// SetChecksum puts the checksum of a message into it.
func SetChecksum(b []byte, bigEndian bool, c Counting) {
	sum := Checksum(b, c)
	byteOrder(bigEndian).AppendUint32(b[checksumAt:checksumAt], sum)
}
