package lnet

import (
	"sync/atomic"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
)

// Message is one outgoing message (struct lnet_msg). The upper layer fills
// Header (type, body, destination, payload length), Payload and Priority,
// calls [Message.Init] once for each value, and hands the value to [Node.Send], which
// owns it until [Upper.Sent]. It may then be used again.
type Message struct {
	lnd.Message

	// Source pins the local NI; the zero NID leaves the choice to lnet.
	Source nid.NID
	// Answers is set if the message answers a request: the NI by which the request came. The answer
	// leaves by this NI, even while the NI is being removed from the node.
	Answers *NI
	// Asker is the process whose connection brought that request (Delivery.From). The
	// answer leaves by the connections of this process, whatever Header.DestNID says.
	Asker nid.ProcessID
	// Upper is the upper layer's: the structure this Message is part of.
	Upper any
	// Aborted, when it points to true, makes a message that still waits for
	// discovery or credits fail with ECANCELED when its turn comes. It has no effect on a
	// message that the driver has. Nil never aborts.
	Aborted *atomic.Bool

	// Routed says that this node forwards the message for another: its header stays as
	// it is, but for the hops, and it waits for no discovery.
	Routed bool
	// Recovery says that the message is a ping of just its destination NID, whose health is
	// low, or at which there may be no node. Its failure lowers no health.
	Recovery bool

	peer    *peerNI
	ni      *NI
	dest    nid.NID       // the destination given to Send; Header.DestNID is the one that was chosen
	hop     *path.Remote  // next hop, whose messages under way include m; nil if there was nothing to choose
	expires time.Duration // deadline; set when the message has to queue or its path is chosen, else 0
	waited  bool          // the message had to wait for its connection, and has given its NI credit back
	found   bool          // the message has waited for discovery
	backlog bool          // the message is counted in Node.backlog, or in Node.answers
	transit *transit      // the transit that it is part of; nil for a message of this node
	retries int           // number of times that the message was sent again
	chosen  bool          // sendChosen has chosen the path, so Target is valid
}

// Init stores m as the owner of its embedded lnd.Message, so that the driver's upcalls lead back to m. Call
// it once, before the first Send; the owner stays when m is used again.
func (m *Message) Init() { m.Owner = m }

// headerBytes is the size that the statistics of a peer's queue count for a header.
const headerBytes = 72

// wireBytes is the size that the statistics of its peer's queue count for m.
func (m *Message) wireBytes() int { return headerBytes + m.Payload.Length }

// reset clears m for its next use.
func (m *Message) reset() {
	m.peer, m.ni, m.expires, m.SentAt = nil, nil, 0, 0
	m.hop, m.waited, m.backlog, m.found = nil, false, false, false
	m.retries, m.chosen = 0, false
}

// NextHop returns the NID to which m was sent. ok is false if lnet did not choose this next hop,
// because only one was possible, or because m ended before the choice.
func (m *Message) NextHop() (id nid.NID, ok bool) { return m.Target.NID, m.chosen }

func owner(m *lnd.Message) *Message { return m.Owner.(*Message) }
