package gossip

import (
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
// ACK (gossip design, Message Passing).
func (a *Agent) send(s *engine.Send, out *engine.Output) {
	m := a.outbox.New()
	m.Priority, m.Data = true, append(m.Data, s.Data(out)...)
	bits := uint64(wire.PingBits)
	if s.Reply {
		bits = wire.ReplyBits
	}
	a.outbox.Put(m, portals.PutRequest{
		Self: a.self, Target: nid.ProcessID{NID: s.To, PID: a.pid}, Portal: wire.Portal, MatchBits: bits,
	})
}
