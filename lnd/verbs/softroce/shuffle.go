package softroce

import (
	"crypto/sha256"
	"encoding/binary"
)

// shuffle is a secret permutation of the numbers below 1<<(2*half): a Feistel network of four rounds. It makes a
// sequence of indexes, which repeats no number early, into numbers from which the next one cannot be guessed. The
// zero value changes no number.
type shuffle struct {
	half uint // bits of half a number; 0: numbers stay as they are
	key  [2]uint64
}

const shuffleRounds = 4

// newShuffle returns a random permutation of the numbers with the given number of bits, which is even and at most
// 32.
func newShuffle(bits uint) shuffle {
	return shuffle{half: bits / 2, key: [2]uint64{unguessable(), unguessable()}}
}

// number returns the number at index i of the sequence.
func (s *shuffle) number(i uint32) uint32 {
	if s.half == 0 {
		return i
	}
	left, right := i>>s.half, i&s.mask()
	for round := range shuffleRounds {
		left, right = right, left^s.mix(round, right)
	}
	return left<<s.half | right
}

// index returns the index of a number in the sequence.
func (s *shuffle) index(number uint32) uint32 {
	if s.half == 0 {
		return number
	}
	left, right := number>>s.half, number&s.mask()
	for round := shuffleRounds - 1; round >= 0; round-- {
		left, right = right^s.mix(round, left), left
	}
	return left<<s.half | right
}

func (s *shuffle) mask() uint32 { return 1<<s.half - 1 }

// mix is the round function. It returns half as many bits as a number has. Without the key, its result cannot be
// predicted.
func (s *shuffle) mix(round int, half uint32) uint32 {
	b := make([]byte, 0, 32)
	for _, k := range s.key {
		b = binary.LittleEndian.AppendUint64(b, k)
	}
	b = binary.LittleEndian.AppendUint32(append(b, byte(round)), half)
	sum := sha256.Sum256(b)
	return binary.LittleEndian.Uint32(sum[:]) & s.mask()
}
