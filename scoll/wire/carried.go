package wire

import "encoding/binary"

// Bounds of the answers of other members that a reply carries.
const (
	// DefaultCarry is the default of RequestConfig.Carry, in bytes.
	DefaultCarry = 4096
	// MaxCarry is the largest value of RequestConfig.Carry, in bytes.
	MaxCarry = 1<<16 - 1
	// MaxParts bounds the messages of one reply. The highest number is reserved for the last
	// message.
	MaxParts = 64
	// CarriedHeaderSize is the length of what precedes each carried message.
	CarriedHeaderSize = 12
)

// Carried is the header of a message with the answer of another member. When the service of an
// inner member does not reply, the member's module passes such answers on, unaggregated. The
// messages are in the order of ranks and parts, little-endian:
//
//	 0  4  rank     of the member whose service answers
//	 4  1  part     number of this message of its answer, from 0
//	 5  1  last     1: no more parts follow
//	 6  2  reserved
//	 8  4  size
//	12     payload
type Carried struct {
	Rank uint32 // rank of the member whose service answers
	Part uint8  // number of this message of its answer, from 0
	Last bool   // this is the last message of the answer
	Size uint32 // size of the payload that follows, in bytes
}

// AppendTo appends the header. The caller appends the payload.
func (c Carried) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, c.Rank)
	last := byte(0)
	if c.Last {
		last = 1
	}
	b = append(b, c.Part, last, 0, 0)
	return binary.LittleEndian.AppendUint32(b, c.Size)
}

// ParseCarried parses a carried message; payload and rest are parts of b. Errors are
// ErrShort and ErrHeader.
func ParseCarried(b []byte) (c Carried, payload, rest []byte, err error) {
	if len(b) < CarriedHeaderSize {
		return c, nil, b, ErrShort
	}
	c.Rank = binary.LittleEndian.Uint32(b)
	c.Part, c.Last = b[4], b[5] == 1
	c.Size = binary.LittleEndian.Uint32(b[8:])
	if b[5] > 1 || c.Part >= MaxParts {
		return c, nil, b, ErrHeader
	}
	if rest = b[CarriedHeaderSize:]; uint64(c.Size) > uint64(len(rest)) {
		return c, nil, b, ErrShort
	}
	return c, rest[:c.Size:c.Size], rest[c.Size:], nil
}
