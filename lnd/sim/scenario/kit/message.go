package kit

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// Message is a message between bare machines: its encoded bytes, and its kind, which the adapter
// numbers from 0. It is not changed once it is sent.
type Message struct {
	Kind uint8  // kind of message, numbered by the adapter
	Data []byte // the bytes that the protocol would send
}

// Hash is a digest of a message; 0 for nil.
func Hash(m **Message) uint64 {
	if *m == nil {
		return 0
	}
	return Digest(uint64((*m).Kind)+1, (*m).Data)
}

// Digest continues the digest h over some bytes.
func Digest(h uint64, b []byte) uint64 {
	for ; len(b) >= 8; b = b[8:] {
		h = Mix(h, binary.LittleEndian.Uint64(b))
	}
	for _, c := range b {
		h = Mix(h, uint64(c))
	}
	return h
}

// Mix continues the digest h over a 64-bit word.
func Mix(h, w uint64) uint64 {
	hi, lo := bits.Mul64(h^w, 0x9e3779b97f4a7c15)
	return bits.RotateLeft64(hi^lo, 17) + h
}

// Codec encodes messages for a recording, as their kind and their data. The value of a Codec is the
// largest kind that there is.
type Codec uint8

var errMessage = errors.New("kit: no message of a recording")

// Append implements sim.Codec.
func (Codec) Append(b []byte, m *Message) []byte {
	if m == nil {
		return b
	}
	return append(append(b, m.Kind), m.Data...)
}

// Parse implements sim.Codec.
func (c Codec) Parse(b []byte) (*Message, error) {
	if len(b) == 0 || b[0] > uint8(c) {
		return nil, errMessage
	}
	return &Message{b[0], slices.Clone(b[1:])}, nil
}
