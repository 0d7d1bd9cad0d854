package scoll

import (
	"encoding/binary"
	"slices"
)

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

// Reduction combines the values of members, position by position. On the wire
// it is the values, 8 bytes each, little-endian, and Count in 8 more.
type Reduction struct {
	Op     Op // the same on all members
	Values []uint64
	Count  uint64 // members whose values are in it
}

// Size is the length of a reduction of so many values on the wire.
func (r *Reduction) Size() int { return 8*len(r.Values) + 8 }

// Add combines the values of a member with r. EINVAL: they are not as many.
func (r *Reduction) Add(values []uint64, count uint64) error {
	if r.Count == 0 {
		r.Values, r.Count = slices.Clone(values), count
		return nil
	}
	if count == 0 {
		return nil
	}
	if len(values) != len(r.Values) {
		return EINVAL
	}
	for i, v := range values {
		r.Values[i] = r.Op.apply(r.Values[i], v)
	}
	r.Count += count
	return nil
}

// Merge combines a child's reduction with r. EINVAL: it is not as long.
func (r *Reduction) Merge(b []byte) error {
	if len(b) < 8 || len(b)%8 != 0 {
		return EINVAL
	}
	values := make([]uint64, len(b)/8-1)
	for i := range values {
		values[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return r.Add(values, binary.LittleEndian.Uint64(b[len(b)-8:]))
}

// AppendTo appends the reduction's form on the wire.
func (r *Reduction) AppendTo(b []byte) []byte {
	for _, v := range r.Values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return binary.LittleEndian.AppendUint64(b, r.Count)
}
