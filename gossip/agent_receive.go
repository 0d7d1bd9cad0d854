package gossip

import (
	"log/slog"
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

	mu     sync.Mutex
	posted map[*buffer]portals.MEHandle // guarded by mu, like all below
	spare  []*buffer
	closed bool
}

// buffer is memory for a message.
type buffer struct{ segments []portals.Segment }

func (r *receiver) start(a *Agent) error {
	r.a, r.event, r.posted = a, r.arrived, make(map[*buffer]portals.MEHandle)
	if err := a.table.SetLazy(Portal); err != nil {
		return err
	}
	for range buffers {
		if err := r.post(); err != nil {
			r.close()
			return err
		}
	}
	return nil
}

// post attaches a buffer for any message from anybody. A message may be in it
// before this returns.
func (r *receiver) post() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	b := r.take()
	anybody := portals.Match{ID: nid.ProcessID{NID: nid.Any(), PID: nid.PIDAny}, Ignore: ^uint64(0)}
	entry, err := r.a.table.MEAttach(Portal, anybody, portals.Unlink, portals.After)
	if err == nil {
		r.posted[b] = entry
	}
	r.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = r.a.table.MDAttach(entry, portals.MD{
		Segments: b.segments, Threshold: 1, Options: portals.OpPut | portals.AckDisable, UserPtr: b, Handler: r.event,
	}, portals.Unlink)
	if err != nil {
		r.give(b)
		_ = r.a.table.MEUnlink(entry)
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

// give makes a buffer spare.
func (r *receiver) give(b *buffer) {
	r.mu.Lock()
	delete(r.posted, b)
	r.spare = append(r.spare, b)
	r.mu.Unlock()
}

// arrived handles the event of a buffer. The next one is posted before the
// message is looked at.
func (r *receiver) arrived(e *portals.Event) {
	b := e.UserPtr.(*buffer)
	if e.Kind == portals.EventPut {
		if err := r.post(); err != nil {
			r.a.log.Error("gossip: no buffer posted", slog.Any("err", err))
		}
		r.hand(e)
	}
	r.give(b)
}

// hand gives the machine a message.
func (r *receiver) hand(e *portals.Event) {
	in := Input{From: e.Initiator.NID, Data: e.Bytes()}
	switch {
	case e.Err != nil:
		return
	case e.MatchBits == PingBits:
		in.Kind = Ping
	case e.MatchBits == ReplyBits:
		in.Kind = Reply
	default:
		r.a.count(&r.a.strayBits)
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
	var entries []portals.MEHandle
	for _, entry := range r.posted {
		entries = append(entries, entry)
	}
	r.mu.Unlock()
	for _, entry := range entries {
		_ = r.a.table.MEUnlink(entry) // ENOENT: a message has just taken it
	}
}
