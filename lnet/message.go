package lnet

import (
	"sync/atomic"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// Message is one outgoing message (struct lnet_msg). The upper layer fills
// Header (type, body, destination, payload length), Payload and Priority,
// calls [Message.Init] once in the life of the value, and lends it to
// [Node.Send] until [Upper.Sent]. The value may then be used again.
type Message struct {
	lnd.Message

	// Source pins the local NI; the zero NID leaves the choice to lnet.
	Source nid.NID
	// Answers is the NI that the request came by which this message answers, nil
	// for others. It carries the answer even while it leaves the node.
	Answers *NI
	// Upper is the upper layer's: the structure this Message is part of.
	Upper any
	// Aborted, when it points to true, makes a message that still waits for
	// discovery or credits fail with ECANCELED when its turn comes. It has no effect on a
	// message that the driver has. Nil never aborts.
	Aborted *atomic.Bool

	peer    *PeerNI
	ni      *NI
	expires time.Duration // instant; set when the message had to queue, else 0
}

// Init ties the embedded driver part to m. Call it once, before the first
// Send; it survives reuse.
func (m *Message) Init() { m.Owner = m }

// wireBytes is what a message counts for in its peer's queue statistics.
func (m *Message) wireBytes() int { return 72 + m.Payload.Length }

// reset forgets the previous use of m.
func (m *Message) reset() {
	m.peer, m.ni, m.expires, m.SentAt = nil, nil, 0, 0
}

func owner(m *lnd.Message) *Message { return m.Owner.(*Message) }
