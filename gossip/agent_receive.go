package gossip

import (
	"slices"
	"sync"

	"ulnet/lnet/nid"
	"ulnet/portals"
)

// buffers is how many wait for messages at any time. Each takes one message
// of any size, so that a longer list needs no other ones (seed 003, Buffer
// Management).
const buffers = 4

// receiver takes what arrives. The portal is lazy: what finds no buffer waits.
type receiver struct {
	a     *Agent
	event func(*portals.Event) // made once

	mu      sync.Mutex
	posted  []posted // guarded by mu, like all below
	spare   []*buffer
	filling bool // somebody is in fill
	closed  bool
}

// buffer is memory for a message.
type buffer struct{ segments []portals.Segment }

// posted is a buffer that waits for a message.
type posted struct {
	b     *buffer
	entry portals.MEHandle
}

func (r *receiver) start(a *Agent) error {
	r.a, r.event = a, r.arrived
	if err := a.table.SetLazy(Portal); err != nil {
		return err
	}
	if err := r.fill(); err != nil {
		r.close()
		return err
	}
	return nil
}

// fill posts as many buffers as there should be. Messages that wait are in
// them before it returns, one after the other: their events leave it to the
// caller who is at it to post the next.
func (r *receiver) fill() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.filling {
		return nil
	}
	r.filling = true
	defer func() { r.filling = false }()
	for !r.closed && len(r.posted) < buffers {
		b := r.take()
		entry, err := r.a.table.MEAttach(Portal, anybody, portals.Unlink, portals.After)
		if err == nil {
			r.posted = append(r.posted, posted{b, entry})
			r.mu.Unlock()
			err = r.attach(entry, b)
			r.mu.Lock()
		}
		if err != nil {
			r.withdraw(b)
			r.spare = append(r.spare, b)
			return err
		}
	}
	return nil
}

// anybody may send anything (seed 003, Matching Buffers with Incoming Messages).
var anybody = portals.Match{ID: nid.ProcessID{NID: nid.Any(), PID: nid.PIDAny}, Ignore: ^uint64(0)}

// attach makes a buffer ready for a message.
func (r *receiver) attach(entry portals.MEHandle, b *buffer) error {
	_, err := r.a.table.MDAttach(entry, portals.MD{
		Segments: b.segments, Threshold: 1, Options: portals.OpPut | portals.AckDisable, UserPtr: b, Handler: r.event,
	}, portals.Unlink)
	if err != nil {
		_ = r.a.table.MEUnlink(entry) // ENOENT: close was faster
	}
	return err
}

// take returns a spare buffer. The caller holds r.mu.
func (r *receiver) take() *buffer {
	if n := len(r.spare); n > 0 {
		b := r.spare[n-1]
		r.spare = r.spare[:n-1]
		return b
	}
	return &buffer{[]portals.Segment{make([]byte, portals.MaxPayload)}}
}

// withdraw notes that a buffer is not posted any more. The caller holds r.mu.
func (r *receiver) withdraw(b *buffer) {
	r.posted = slices.DeleteFunc(r.posted, func(p posted) bool { return p.b == b })
}

// arrived handles the event of a buffer. The next one is posted before the
// message is looked at.
func (r *receiver) arrived(e *portals.Event) {
	b := e.UserPtr.(*buffer)
	r.mu.Lock()
	r.withdraw(b)
	r.mu.Unlock()
	if e.Kind == portals.EventPut {
		if err := r.fill(); err != nil {
			r.a.notPosted.Add(1) // the next message tries again, and so does the next cycle
		}
		r.hand(e, b.segments[0])
	}
	r.mu.Lock()
	r.spare = append(r.spare, b)
	r.mu.Unlock()
}

// hand gives the machine a message.
func (r *receiver) hand(e *portals.Event, memory []byte) {
	if e.Err != nil {
		return
	}
	in := Input{From: e.Initiator.NID, Data: memory[e.Offset:][:e.MLength]}
	switch {
	case e.MatchBits == PingBits:
		in.Kind = Ping
	case e.MatchBits == ReplyBits:
		in.Kind = Reply
	default:
		r.a.strayBits.Add(1)
		return
	}
	r.a.runner.Do(in)
}

// close takes the buffers back. The portal stops being lazy first: what waits
// there would keep the connections of others from being read.
func (r *receiver) close() {
	_ = r.a.table.ClearLazy(Portal) // it exists
	r.mu.Lock()
	r.closed = true
	entries := slices.Clone(r.posted)
	r.mu.Unlock()
	for _, p := range entries {
		_ = r.a.table.MEUnlink(p.entry) // ENOENT: a message has just taken it
	}
}
