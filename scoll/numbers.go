package scoll

import "encoding/binary"

// Numbers encodes numbers, in 8 bytes each, little-endian. An [Op] merges answers of a
// [Handler] that are such lists.
func Numbers(values ...uint64) []byte {
	b := make([]byte, 0, 8*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// parseNumbers parses a list of numbers. EPROTO: the length is no multiple of 8.
func parseNumbers(b []byte) (values []uint64, err error) {
	if len(b)%8 != 0 {
		return nil, EPROTO
	}
	for ; len(b) > 0; b = b[8:] {
		values = append(values, binary.LittleEndian.Uint64(b))
	}
	return values, nil
}

// Op is an operation that combines numbers.
type Op uint8

// The operations. And is bitwise, for bitmaps.
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

// Merge combines two lists of numbers, position by position, into the memory of a. It can be
// a Handler.Merge. EPROTO: the lengths differ, or are no multiples of 8.
func (op Op) Merge(a, b []byte) ([]byte, error) {
	if len(a) != len(b) || len(a)%8 != 0 {
		return nil, EPROTO
	}
	for i := 0; i < len(a); i += 8 {
		binary.LittleEndian.PutUint64(a[i:], op.apply(binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])))
	}
	return a, nil
}
