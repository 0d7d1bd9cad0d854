package rmcastsim

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"ulnet/lnd/sim"
)

// Kind tells messages between bare machines apart.
type Kind uint8

// The kinds of messages.
const (
	Cast    Kind = iota // a datagram, by multicast
	Repair              // a datagram for one member
	Control             // acknowledgements, and other words of members
	Order               // from or to a manager
)

// headerSize is what LNet's header adds to a message.
const headerSize = 72

// message is a message between bare machines. It is not changed once it is sent.
type message struct {
	kind Kind
	data []byte
}

func newMessage(kind Kind, head, data []byte) *message {
	return &message{kind, slices.Concat(head, data)}
}

// send is a message on its way.
func (m *message) send(to sim.NodeID, again bool) sim.Send[*message] {
	return sim.Send[*message]{To: to, Msg: m, Size: headerSize + len(m.data), Priority: m.kind == Control, Copy: again}
}

// hash is a digest of a message.
func hash(p **message) uint64 {
	m := *p
	if m == nil {
		return 0
	}
	h, b := mix(uint64(m.kind)+1, uint64(len(m.data))), m.data
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
