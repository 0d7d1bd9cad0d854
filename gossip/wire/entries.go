package wire

import (
	"encoding/binary"
	"math/bits"
)

// Entries is the body of a reply that ParseEntries has checked.
type Entries struct {
	flags  Flags
	bitmap []byte
	ages   []byte // one age per entry, or pairs of an index and an age
}

// ParseEntries checks the body of a reply about n participants.
func ParseEntries(flags Flags, body []byte, n int) (Entries, error) {
	e := Entries{flags: flags, ages: body}
	switch {
	case flags&FlagBitmap != 0:
		size := (n + 7) / 8
		if len(body) < size {
			return e, ErrBody
		}
		e.bitmap, e.ages = body[:size], body[size:]
		if n%8 != 0 && e.bitmap[size-1]>>(n%8) != 0 {
			return e, ErrNoParticipant
		}
		set := 0
		for _, b := range e.bitmap {
			set += bits.OnesCount8(b)
		}
		if set != len(e.ages) {
			return e, ErrBody
		}
	case flags&FlagPairs != 0:
		if len(body)%PairSize != 0 || len(body)/PairSize > n {
			return e, ErrBody
		}
		for p := body; len(p) > 0; p = p[PairSize:] {
			if binary.LittleEndian.Uint32(p) >= uint32(n) {
				return e, ErrNoParticipant
			}
		}
	case len(body) != 0:
		return e, ErrBody
	}
	return e, nil
}

// Each calls f for each entry.
func (e *Entries) Each(f func(i int, age byte)) {
	if e.flags&FlagPairs != 0 {
		for p := e.ages; len(p) > 0; p = p[PairSize:] {
			f(int(binary.LittleEndian.Uint32(p)), p[4])
		}
		return
	}
	k := 0
	for i, b := range e.bitmap {
		for ; b != 0; b &= b - 1 {
			f(i*8+bits.TrailingZeros8(b), e.ages[k])
			k++
		}
	}
}

// AppendPair appends an entry in the form of FlagPairs.
func AppendPair(b []byte, i int, age byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(i)), age)
}
