package gossipsim

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// message is a ping or a reply on its way.
type message struct {
	reply bool
	data  []byte
}

// pool is the memory of messages. What was delivered is used again once the
// step with it is over and digested; what was lost on the way is garbage.
type pool struct {
	free []*message
	used *message // delivered in the latest step
	off  bool     // a message may come twice
}

// take returns a message with a copy of data.
func (p *pool) take(reply bool, data []byte) *message {
	var m *message
	if k := len(p.free) - 1; k >= 0 {
		m, p.free = p.free[k], p.free[:k]
	} else {
		m = new(message)
	}
	m.reply, m.data = reply, append(m.data[:0], data...)
	return m
}

// delivered notes the message of this step, nil for none.
func (p *pool) delivered(m *message) {
	if p.used != nil && !p.off {
		p.free = append(p.free, p.used)
	}
	p.used = m
}

// hash is a digest of a message.
func hash(m **message) uint64 {
	if *m == nil {
		return 0
	}
	h, b := uint64(1), (*m).data
	if (*m).reply {
		h = 2
	}
	for ; len(b) >= 8; b = b[8:] {
		h = mix(h, binary.LittleEndian.Uint64(b))
	}
	for _, c := range b {
		h = mix(h, uint64(c))
	}
	return h
}

func mix(h, w uint64) uint64 {
	hi, lo := bits.Mul64(h^w, 0x9e3779b97f4a7c15)
	return bits.RotateLeft64(hi^lo, 17) + h
}

var errMessage = errors.New("gossipsim: a message begins with 0 or 1")

// codec is the form of messages in a recording: 1 for a reply, and the data.
type codec struct{}

func (codec) Append(b []byte, m *message) []byte {
	if m == nil {
		return b
	}
	kind := byte(0)
	if m.reply {
		kind = 1
	}
	return append(append(b, kind), m.data...)
}

func (codec) Parse(b []byte) (*message, error) {
	if len(b) < 1 || b[0] > 1 {
		return nil, errMessage
	}
	return &message{b[0] == 1, append([]byte(nil), b[1:]...)}, nil
}
