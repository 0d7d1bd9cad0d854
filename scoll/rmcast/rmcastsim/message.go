package rmcastsim

import (
	"slices"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// Kind is a kind of message between machines.
type Kind = uint8

// The kinds of messages.
const (
	Cast    Kind = iota // a multicast datagram
	Repair              // a datagram for one member
	Control             // control entries between members
	order               // a message from or to a manager
)

// headerSize is the size of LNet's header, in bytes.
const headerSize = 72

func newMessage(kind Kind, head, data []byte) *kit.Message {
	return &kit.Message{Kind: kind, Data: slices.Concat(head, data)}
}

// send returns a message to be sent.
func send(m *kit.Message, to sim.NodeID, again bool) sim.Send[*kit.Message] {
	return sim.Send[*kit.Message]{To: to, Msg: m, Size: headerSize + len(m.Data), Priority: m.Kind == Control, Copy: again}
}

// hash is a digest of a message.
func hash(m **kit.Message) uint64 {
	if *m == nil {
		return 0
	}
	return kit.Digest(kit.Mix(uint64((*m).Kind)+1, uint64(len((*m).Data))), (*m).Data)
}
