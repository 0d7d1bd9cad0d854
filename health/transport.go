package health

import (
	"sync"
	"sync/atomic"
	"time"

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

	inbox  portals.Inbox
	onSent func(*portals.Event) // the method, made a value once

	mu     sync.Mutex
	closed bool // guarded by mu, like all below
	free   []*sending
	bytes  int // on their way

	notSent   atomic.Uint64 // messages that LNet did not take or send
	strayBits atomic.Uint64 // messages with match bits of nobody
}

// sending is a message on its way, with memory of its own.
type sending struct {
	data     []byte
	segments [1]portals.Segment
}

// Bounds of what is on its way out, and of the memory that is kept for more,
// local policy. To a client that is dead a message is for as long as a
// transaction lasts; what exceeds the bound is not sent, as if it were lost.
const (
	maxSending = 64 << 20
	keptSpare  = 64
)

// start posts the buffers.
func (t *transport) start() error {
	t.onSent = t.sent
	return t.inbox.Open(t.table, portals.InboxConfig{Portal: t.portal, Buffers: t.count, Size: t.size, Handle: t.arrived})
}

func (t *transport) arrived(e *portals.Event, data []byte) {
	if e.MatchBits != Bits {
		t.strayBits.Add(1)
		return
	}
	t.handle(e, data)
}

// send puts a message, with priority; nobody waits for an acknowledgement.
func (t *transport) send(to nid.ProcessID, portal int, data []byte) {
	p := t.take(data)
	if p == nil {
		t.notSent.Add(1)
		return
	}
	md, err := t.table.MDBind(portals.MD{
		Segments: p.segments[:], Threshold: 1, Options: portals.Priority, UserPtr: p, Handler: t.onSent,
	}, portals.Unlink)
	if err != nil {
		t.notSent.Add(1)
		t.give(p)
		return
	}
	err = t.table.Put(portals.PutRequest{Self: t.self, MD: md, Target: to, Portal: portal, MatchBits: Bits})
	if err != nil {
		t.notSent.Add(1)
		_ = t.table.MDUnlink(md) // its event gives p back
	}
}

// take returns memory with a message, or nil if too much is on its way.
func (t *transport) take(data []byte) *sending {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.bytes+len(data) > maxSending {
		return nil
	}
	t.bytes += len(data)
	var p *sending
	if n := len(t.free); n > 0 {
		p, t.free = t.free[n-1], t.free[:n-1]
	} else {
		p = new(sending)
	}
	p.data = append(p.data[:0], data...)
	p.segments[0] = p.data
	return p
}

func (t *transport) give(p *sending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes -= len(p.data)
	if len(t.free) < keptSpare {
		t.free = append(t.free, p)
	}
}

// sent handles the last event of a message.
func (t *transport) sent(e *portals.Event) {
	if e.Err != nil {
		t.notSent.Add(1)
	}
	if e.Unlinked {
		t.give(e.UserPtr.(*sending))
	}
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
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
}

// selfOf returns the NID under which a node takes part: the one that was
// configured, or its only one.
func selfOf(table *portals.Table, self nid.NID) (nid.NID, error) {
	if self.IsValid() {
		return self, nil
	}
	for _, id := range table.Node().IDs() {
		if id.NID.IsLo() {
			continue
		}
		if self.IsValid() {
			return nid.NID{}, ErrNoNID
		}
		self = id.NID
	}
	if !self.IsValid() {
		return nid.NID{}, ErrNoNID
	}
	return self, nil
}
