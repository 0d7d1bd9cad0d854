package health

import (
	"slices"
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

	onArrived, onSent func(*portals.Event) // the methods, made values once

	mu      sync.Mutex
	posted  []*receiving // guarded by mu, like all below
	spare   []*receiving
	filling bool
	closed  bool
	free    []*sending
	bytes   int // on their way

	notSent   atomic.Uint64 // messages that LNet did not take or send
	strayBits atomic.Uint64 // messages with match bits of nobody
	notPosted atomic.Uint64 // buffers that could not be posted at once
}

// receiving is a buffer that waits for a message, or will.
type receiving struct {
	segments [1]portals.Segment
	entry    portals.MEHandle
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

// start posts the buffers. The portal is lazy: what finds none waits.
func (t *transport) start() error {
	if err := t.table.SetLazy(t.portal); err != nil {
		return err
	}
	t.onArrived, t.onSent = t.arrived, t.sent
	if err := t.fill(); err != nil {
		t.close()
		return err
	}
	return nil
}

// fill posts as many buffers as there should be.
func (t *transport) fill() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.filling {
		return nil // whoever is at it posts the next one, too
	}
	t.filling = true
	defer func() { t.filling = false }()
	for !t.closed && len(t.posted) < t.count {
		r := t.buffer()
		entry, err := t.table.MEAttach(t.portal, anybody, portals.Unlink, portals.After)
		if err == nil {
			r.entry = entry
			t.posted = append(t.posted, r)
			t.mu.Unlock()
			_, err = t.table.MDAttach(entry, portals.MD{
				Segments: r.segments[:], Threshold: 1, Options: portals.OpPut | portals.AckDisable, UserPtr: r, Handler: t.onArrived,
			}, portals.Unlink)
			if err != nil {
				_ = t.table.MEUnlink(entry) // ENOENT: close was faster
			}
			t.mu.Lock()
		}
		if err != nil {
			t.withdraw(r)
			t.spare = append(t.spare, r)
			return err
		}
	}
	return nil
}

// anybody may send anything: the message says what it is.
var anybody = portals.Match{ID: nid.ProcessID{NID: nid.Any(), PID: nid.PIDAny}, Ignore: ^uint64(0)}

// buffer returns spare memory. The caller holds t.mu.
func (t *transport) buffer() *receiving {
	if n := len(t.spare); n > 0 {
		r := t.spare[n-1]
		t.spare = t.spare[:n-1]
		return r
	}
	return &receiving{segments: [1]portals.Segment{make([]byte, t.size)}}
}

// withdraw notes that memory is not posted any more. The caller holds t.mu.
func (t *transport) withdraw(r *receiving) {
	if i := slices.Index(t.posted, r); i >= 0 {
		t.posted = slices.Delete(t.posted, i, i+1)
	}
}

// arrived handles the event of a buffer. The next one is posted before the
// message is looked at.
func (t *transport) arrived(e *portals.Event) {
	r := e.UserPtr.(*receiving)
	t.mu.Lock()
	t.withdraw(r)
	t.mu.Unlock()
	if e.Kind == portals.EventPut {
		if err := t.fill(); err != nil {
			t.notPosted.Add(1) // the next message tries again
		}
		switch {
		case e.Err != nil:
		case e.MatchBits != Bits:
			t.strayBits.Add(1)
		default:
			t.handle(e, r.segments[0][e.Offset:][:e.MLength])
		}
	}
	t.mu.Lock()
	t.spare = append(t.spare, r)
	t.mu.Unlock()
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

// close takes the buffers back. The portal stops being lazy first: what waits
// there would keep the connections of others from being read.
func (t *transport) close() {
	_ = t.table.ClearLazy(t.portal) // it exists
	t.mu.Lock()
	t.closed = true
	entries := slices.Clone(t.posted)
	t.mu.Unlock()
	for _, p := range entries {
		_ = t.table.MEUnlink(p.entry) // ENOENT: a message has just taken it
	}
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
