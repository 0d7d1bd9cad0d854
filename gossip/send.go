package gossip

import (
	"time"

	"ulnet/gossip/engine"
	"ulnet/gossip/wire"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// bounds limit the messages that are being sent; local policy. A message to a dead node stays
// in flight until LNet's transaction timeout, so the limits allow a few for each peer and many
// in total. The agent drops what exceeds them: lost gossip does no harm, and the next message
// is fresher.
var bounds = portals.OutboxConfig[struct{}]{
	PeerMessages: 2, // a ping and a reply per peer
	MaxBytes:     256 << 20,
	Spare:        16 << 20, // room for 16 messages about a million nodes
}

// send sends a message as a PUT with priority, from this node's NID in the list. It requests no LNet
// ACK (gossip design, Message Passing). A message to a node that is out of reach is not sent once the node is back: its
// ages were right when it was made, and would be too low then.
func (a *Agent) send(s *engine.Send, out *engine.Output) {
	m := a.outbox.New()
	m.Priority, m.Data = true, append(m.Data, s.Data(out)...)
	bits := uint64(wire.PingBits)
	if s.Reply {
		bits = wire.ReplyBits
	}
	a.outbox.Put(m, portals.PutRequest{
		Self: a.self, Target: nid.ProcessID{NID: s.To, PID: a.pid}, Portal: wire.Portal, MatchBits: bits,
		LeaveWithin: a.freshFor(),
	})
}

// freshFor returns how long a message may wait until it is sent: two cycles, and the round trips in which a connection
// is made to a node that can be reached. The ages in it are too low by that time at most (local policy).
func (a *Agent) freshFor() time.Duration { return 2*a.cfg.Interval + connectRTTs*max(a.cfg.RTT, 0) }

// connectRTTs is how many round trips pass before the first message to a node leaves: discovery, and then a connection
// of TCP with its HELLOs, take two each.
const connectRTTs = 4
