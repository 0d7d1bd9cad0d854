package rmcastsim

import (
	"slices"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// Kind tells messages between bare machines apart.
type Kind = uint8

// The kinds of messages.
const (
	Cast    Kind = iota // a datagram, by multicast
	Repair              // a datagram for one member
	Control             // acknowledgements, and other words of members
	Order               // from or to a manager
)

// headerSize is what LNet's header adds to a message.
const headerSize = 72

func newMessage(kind Kind, head, data []byte) *kit.Message {
	return &kit.Message{Kind: kind, Data: slices.Concat(head, data)}
}

// send is a message on its way.
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
