package scoll

import "encoding/binary"

// Numbers returns the form of numbers on the wire: 8 bytes each, little-endian. Answers of a
// [Handler] that are such lists can be merged with the Merge of an [Op].
func Numbers(values ...uint64) []byte {
	b := make([]byte, 0, 8*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// parseNumbers parses a list of numbers. EPROTO: it is none.
func parseNumbers(b []byte) (values []uint64, err error) {
	if len(b)%8 != 0 {
		return nil, EPROTO
	}
	for ; len(b) > 0; b = b[8:] {
		values = append(values, binary.LittleEndian.Uint64(b))
	}
	return values, nil
}

// Op is how a reduction combines values.
type Op uint8

// The operations. And over words is that of bitmaps.
const (
	Min Op = iota
	Max
	Sum
	And
)

func (op Op) apply(a, b uint64) uint64 {
	switch op {
	case Min:
		return min(a, b)
	case Max:
		return max(a, b)
	case Sum:
		return a + b
	}
	return a & b
}

// Merge combines two lists of numbers, position by position; it is a Handler.Merge. EPROTO:
// they are none, or not as long as each other.
func (op Op) Merge(a, b []byte) ([]byte, error) {
	if len(a) != len(b) || len(a)%8 != 0 {
		return nil, EPROTO
	}
	for i := 0; i < len(a); i += 8 {
		binary.LittleEndian.PutUint64(a[i:], op.apply(binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])))
	}
	return a, nil
}
