package health

import (
	"sync/atomic"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// transport brings messages from and to portals, for one agent. It has no
// goroutine: what arrives is handled in the one that delivered it.
type transport struct {
	table  *portals.Table
	self   nid.NID // to send from
	portal int     // to receive at
	size   int     // of the largest message
	count  int     // of buffers
	handle func(*portals.Event, []byte)

	inbox     portals.Inbox
	outbox    portals.Outbox[struct{}]
	strayBits atomic.Uint64 // messages with match bits of nobody
}

// maxSending bounds what is on its way out, in bytes, local policy. To a client that
// is dead a message is for as long as a transaction lasts; what exceeds the bound is
// not sent, as if it were lost.
const maxSending = 64 << 20

// begin lets send be called.
func (t *transport) begin() {
	t.outbox.Open(t.table, portals.OutboxConfig[struct{}]{MaxBytes: maxSending})
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

// send puts a message, with priority; nobody waits for an acknowledgement.
func (t *transport) send(to nid.ProcessID, portal int, data []byte) {
	m := t.outbox.New()
	m.Priority, m.Data = true, append(m.Data, data...)
	t.outbox.Put(m, portals.PutRequest{Self: t.self, Target: to, Portal: portal, MatchBits: wire.Bits})
}

// stamp turns an instant on the node's clock into one on an agent's: they differ
// where the agent's goes on while the system is suspended. It is never 0.
func (t *transport) stamp(clock machine.Clock, at time.Duration) time.Duration {
	node := t.table.Node().Clock()
	if clock == node {
		return max(at, 1)
	}
	return max(clock.Now()-(node.Now()-at), 1)
}

// close takes the buffers back; nothing is sent any more.
func (t *transport) close() {
	t.inbox.Close()
	t.outbox.Close()
}
