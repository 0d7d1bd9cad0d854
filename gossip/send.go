package gossip

import (
	"ulnet/gossip/engine"
	"ulnet/gossip/wire"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// bounds of messages that are on their way out, local policy. To a node that is
// dead they can be for as long as a transaction lasts, so that a few for each
// peer and many for all are needed. What exceeds them is not sent: gossip that
// is lost does no harm, and the next is fresher.
var bounds = portals.OutboxConfig[struct{}]{
	PeerMessages: 2, // a ping and a reply
	MaxBytes:     256 << 20,
	Spare:        16 << 20, // 16 messages of a million nodes
}

// send puts a message, with priority, from the NID that takes part; nobody
// waits for an answer (gossip design, Message Passing).
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
