package scoll

import (
	"log/slog"
	"sync"

	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// receiver takes requests. The portal is lazy: what finds no buffer waits
// (collectives design, Buffer Management).
type receiver struct {
	a     *Agent
	event func(*portals.Event) // made once

	mu      sync.Mutex
	posted  map[*buffer]portals.MEHandle // guarded by mu, like all below
	spare   []*buffer
	closed  bool
	owed    int // buffers to post
	posting bool
}

// buffer is memory for a request.
type buffer struct{ segments [1]portals.Segment }

func (r *receiver) start(a *Agent) error {
	r.a, r.event, r.posted = a, r.arrived, make(map[*buffer]portals.MEHandle)
	if err := a.table.SetLazy(wire.RequestPortal); err != nil {
		return err
	}
	for range a.cfg.Buffers {
		if err := r.post(); err != nil {
			r.close()
			return err
		}
	}
	return nil
}

// post attaches a buffer for a request from anybody. One may be in it before
// this returns. What is too long for any is taken too, or it would wait for ever.
func (r *receiver) post() error {
	b := r.take()
	if b == nil {
		return nil
	}
	anybody := portals.Match{ID: nid.ProcessID{NID: nid.Any(), PID: nid.PIDAny}, Ignore: ^uint64(0)}
	entry, err := r.a.table.MEAttach(wire.RequestPortal, anybody, portals.Unlink, portals.After)
	if err == nil {
		r.mu.Lock()
		r.posted[b] = entry
		r.mu.Unlock()
		_, err = r.a.table.MDAttach(entry, portals.MD{
			Segments: b.segments[:], Threshold: 1, Options: portals.OpPut | portals.AckDisable | portals.Truncate, UserPtr: b, Handler: r.event,
		}, portals.Unlink)
		if err != nil {
			_ = r.a.table.MEUnlink(entry)
		}
	}
	if err != nil {
		r.give(b)
	}
	return err
}

// take returns a spare buffer, nil after close.
func (r *receiver) take() *buffer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	if n := len(r.spare); n > 0 {
		b := r.spare[n-1]
		r.spare = r.spare[:n-1]
		return b
	}
	return &buffer{[1]portals.Segment{make([]byte, MaxMessage)}}
}

func (r *receiver) give(b *buffer) {
	r.mu.Lock()
	delete(r.posted, b)
	r.spare = append(r.spare, b)
	r.mu.Unlock()
}

// arrived handles the event of a buffer. The machine keeps what it needs, so
// that the buffer can be posted again.
func (r *receiver) arrived(e *portals.Event) {
	b := e.UserPtr.(*buffer)
	if e.Kind == portals.EventPut && e.Err == nil {
		data := b.segments[0][:e.MLength]
		r.a.deliver(engine.Input{
			Kind: engine.Arrival, From: e.Source.NID, Data: data, Cut: e.RLength > e.MLength, Wall: r.a.wall(),
			Signed: r.a.isSigned(data, e.Source.NID),
		})
	}
	r.give(b)
	r.replenish()
}

// replenish posts a buffer. Requests that waited arrive while it does that, and
// are counted instead of going deeper.
func (r *receiver) replenish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owed++
	if r.posting {
		return
	}
	for r.posting = true; r.owed > 0; r.owed-- {
		r.mu.Unlock()
		err := r.post()
		r.mu.Lock()
		if err != nil {
			r.a.log.Error("scoll: no buffer posted", slog.Any("err", err))
			break // the next request that arrives posts it
		}
	}
	r.posting = false
}

// close takes the buffers back. The portal stops being lazy first: what waits
// there would keep the connections of others from being read.
func (r *receiver) close() {
	_ = r.a.table.ClearLazy(wire.RequestPortal) // it exists
	r.mu.Lock()
	r.closed = true
	entries := make([]portals.MEHandle, 0, len(r.posted))
	for _, entry := range r.posted { // any order: all are unlinked
		entries = append(entries, entry)
	}
	r.mu.Unlock()
	for _, entry := range entries {
		_ = r.a.table.MEUnlink(entry) // ENOENT: a message has just taken it
	}
}
