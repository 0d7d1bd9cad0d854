package engine

import (
	"errors"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// Node is the machine of a test node. See machine.Machine.
type Node struct {
	cfg       Config
	now       time.Duration
	out       *Output
	deadlines machine.Deadlines[func()]

	session   *session
	fetching  *transfer // list of destinations that the request in front waits for; nil: none
	waiting   []request // requests of consoles that wait for their turn
	transfers map[uint64]*transfer
	brw       brwServer
	calls     map[uint64]*call
	callers   callers
	joining   *joining // the RPC by which the node asks a console for membership of its session; nil: none
	lastID    uint64   // number of the latest RPC or transfer
	stats     Stats
	latencies histogram // times that the RPCs that succeeded took

	// Bodies of the message that is being made, so that they need no memory of their own.
	ping      wire.Ping
	pingReply wire.PingReply
	brwCall   wire.BRW
}

var _ machine.Machine[Input, Output] = (*Node)(nil)

// request is a request that has arrived.
type request struct {
	wire.Message
	peer nid.ProcessID // the process that sent the request
	self nid.NID       // the NID of this node to which the request was sent
	at   time.Duration // when the request arrived
	lnet wire.LNetStats

	stranger bool // Config.Allow refuses peer
}

// NewNode returns a machine without a session.
func NewNode(cfg Config) (*Node, error) {
	cfg, err := cfg.filled()
	if err != nil {
		return nil, err
	}
	return &Node{cfg: cfg, lastID: cfg.FirstID, transfers: map[uint64]*transfer{}, calls: map[uint64]*call{}, brw: brwServer{peers: map[nid.NID]client{}}}, nil
}

// Step implements machine.Machine.
func (n *Node) Step(now time.Duration, in Input, out *Output) (wake time.Duration) {
	n.now, n.out = now, out
	switch in.Kind {
	case Arrived:
		n.arrived(&in)
	case Moved:
		n.moved(&in)
	case Sent, Replied, Bulk:
		if j := n.joining; j != nil && j.id == in.ID {
			n.progressJoin(&in)
		} else {
			n.progress(&in)
		}
	case Join:
		n.join(&in)
	case Cancel:
		n.cancelJoin(in.ID)
	case Recheck:
		n.recheck()
	}
	for d := n.deadlines.Pop(now); d != nil; d = n.deadlines.Pop(now) {
		d.Of()
	}
	n.next()
	n.callWaiting()
	n.out = nil
	return n.deadlines.Next()
}

// Stats returns the counters of the node.
func (n *Node) Stats() Stats {
	s := n.stats
	s.Session, s.Calls, s.Moving = n.sessionID(), len(n.calls), n.brw.moving
	if n.session != nil {
		s.Name = n.session.name
	}
	return s
}

// nextID returns a number that no RPC or transfer of this node has.
func (n *Node) nextID() uint64 {
	n.lastID++
	return n.lastID
}

// arrived takes a request that was put to one of the two request portals.
func (n *Node) arrived(in *Input) {
	want, known := in.Service.Request()
	if !known {
		n.stats.Malformed++
		return
	}
	n.stats.Received++
	m, err := wire.ParseMessage(in.Data)
	version := errors.Is(err, wire.ErrVersion)
	switch {
	case err != nil && !version, m.Type != want:
		n.stats.Malformed++
		n.drop()
		return
	}
	q := request{Message: m, peer: in.Peer, self: in.Self, at: n.now, lnet: in.LNet, stranger: !n.cfg.Allow(in.Peer.NID)}
	switch {
	case q.stranger:
		n.stranger(&q)
	case version:
		n.answer(&q, wire.Message{Status: wire.EPROTO, Body: emptyReply(want)})
	case in.Service == wire.BRWService:
		n.serveBRW(&q)
	case in.Service == wire.PingService:
		n.servePing(&q)
	case in.Service == wire.JoinService && in.Console:
		n.do(Effect{Kind: DoJoin, Peer: q.peer, Self: q.self, Bits: q.ReplyID, Features: q.Features, Join: q.Body.(*wire.Join)})
	default:
		n.framework(q)
	}
}

// stranger answers a request for a session from a node that is not allowed. It refuses at once, so that such nodes do
// not fill the queue, and does not tell the node which session this node has. Other requests of these nodes get no
// reply.
func (n *Node) stranger(q *request) {
	n.stats.NotAllowed++
	if q.Type != wire.TypeMakeSession {
		n.drop()
		return
	}
	n.answer(q, wire.Message{
		Header: wire.Header{Features: wire.KnownFeatures}, Status: wire.EPERM, Body: emptySessionReply(q.Type, wire.NoSession()),
	})
}

// drop counts a request without a reply.
func (n *Node) drop() { n.stats.Dropped++ }

// emptyReply returns the reply to a message of another version, of which only the status is
// defined.
func emptyReply(t wire.Type) wire.Body {
	switch t {
	case wire.TypeBRW:
		return &wire.BRWReply{}
	case wire.TypePing:
		return &wire.PingReply{}
	}
	return emptySessionReply(t, wire.NoSession())
}

// answer sends a reply, from the NID that the request was sent to.
func (n *Node) answer(q *request, reply wire.Message) {
	data, err := reply.AppendBinary(n.out.message())
	if err != nil { // does not happen: only the NID of a session may be impossible to encode, and this one arrived in a message
		n.drop()
		return
	}
	n.do(Effect{Kind: DoReply, Peer: q.peer, Self: q.self, Bits: q.ReplyID, Data: data, Stranger: q.stranger})
}
