package health

import (
	"sync/atomic"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// transport sends and receives the messages of one agent by portals. It has no goroutine: an
// arrival is handled in the goroutine that delivers it.
type transport struct {
	table  *portals.Table
	self   nid.NID // the NID from which messages are sent
	portal int     // the portal at which messages arrive
	size   int     // size of the largest message in bytes
	count  int     // number of receive buffers
	handle func(*portals.Event, []byte)

	inbox     portals.Inbox
	outbox    portals.Outbox[struct{}]
	strayBits atomic.Uint64 // messages with other match bits, which were dropped
}

// maxSending bounds the bytes of messages in flight; further messages are dropped. The bound is
// needed because a message to a dead client stays in flight until LNet's transaction timeout.
const maxSending = 64 << 20

// Bounds of the number of messages in flight, to one NID and in all; local policy. Otherwise nodes that send requests and
// read no answers could use up maxSending, and clients would get no answers to their pings. Answers are small: as many as
// maxMessages take less than maxSending. Half of maxMessages is reserved for NIDs to which fewer than ownToPeer are in
// flight; NIDs that read nothing, however many, share the other half, see [portals.OutboxConfig].
const (
	maxToPeer   = 8192
	ownToPeer   = 64
	maxMessages = 1 << 19
)

// begin allows calls of the method send.
func (t *transport) begin() {
	t.outbox.Open(t.table, portals.OutboxConfig[struct{}]{
		MaxBytes: maxSending, PeerMessages: maxToPeer, OwnMessages: ownToPeer, MaxMessages: maxMessages,
	})
}

// start posts the buffers.
func (t *transport) start() error {
	return t.inbox.Open(t.table, portals.InboxConfig{Portal: t.portal, Buffers: t.count, Size: t.size, Handle: t.arrived})
}

func (t *transport) arrived(e *portals.Event, data []byte) {
	if e.MatchBits != wire.Bits {
		t.strayBits.Add(1)
		return
	}
	t.handle(e, data)
}

// send sends a message as a PUT with priority that requests no LNet ACK.
func (t *transport) send(to nid.ProcessID, portal int, data []byte) {
	m := t.outbox.New()
	m.Priority, m.Data = true, append(m.Data, data...)
	t.outbox.Put(m, portals.PutRequest{Self: t.self, Target: to, Portal: portal, MatchBits: wire.Bits})
}

// stamp converts a time of the node's clock to the time of the agent's clock. The clocks differ
// if the agent's goes on while the system is suspended. The result is never 0.
func (t *transport) stamp(clock machine.Clock, at time.Duration) time.Duration {
	node := t.table.Node().Clock()
	if clock == node {
		return max(at, 1)
	}
	return max(clock.Now()-(node.Now()-at), 1)
}

// close withdraws the buffers. After close, no message is sent.
func (t *transport) close() {
	t.inbox.Close()
	t.outbox.Close()
}
