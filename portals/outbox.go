package portals

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"

	"ulnet/lnet/nid"
)

// OutboxConfig bounds the messages of an outbox that are on their way, and has the function
// that is called when a message is done. With the zero value there are no bounds and no such
// function.
type OutboxConfig[Note any] struct {
	MaxBytes     int // most bytes of all messages on their way; 0: no bound
	PeerBytes    int // most bytes of messages to one NID; 0: no bound
	PeerMessages int // most messages on their way to one NID; 0: no bound
	// MaxMessages is the most messages on their way to all NIDs; 0: no bound. Half of them are reserved for NIDs to which
	// fewer than OwnMessages are on their way. All other NIDs share the other half, of which no NID may have more than are
	// free in it (the dynamic threshold of shared-memory switches). So NIDs that read nothing, however many, leave room for
	// others.
	MaxMessages int
	OwnMessages int // how many messages to a NID may use the reserved half of MaxMessages; used with MaxMessages
	Spare       int // bytes of memory that are kept for later messages; 0: 1 MiB
	// Done is called once for each message that was put, with its Note and a nil error when the
	// message has left or, with PutRequest.Ack, was acknowledged. It is called like any event
	// handler, possibly before Put returns. May be nil.
	Done func(note Note, err error)
}

// Errors that Done gets, besides those of [Table.Put] and of events.
var (
	ErrOutboxFull   = errors.New("portals: as much is on its way as the outbox may have: send again when something has left")
	ErrOutboxClosed = errors.New("portals: the outbox is closed")
)

// Outbox sends small messages, each from memory of its own. Later messages use this memory
// again, so that no memory is allocated in the steady state. A message beyond the bounds is not
// sent. A message to a dead peer counts as on its way until the transaction timeout, so a bound
// for each peer prevents one dead peer from using up the bound for all. With MaxMessages, many cannot do so either.
//
// Done gets the Note of a message to identify it. Outbox is a value with a method Open, like
// [Inbox]. Methods are safe for concurrent use.
type Outbox[Note any] struct {
	table   *Table
	cfg     OutboxConfig[Note]
	event   func(*Event) // event handler, made once
	notSent atomic.Uint64

	mu     sync.Mutex
	closed bool              // Close was called; guarded by mu, like all fields below
	free   []*Outgoing[Note] // spare messages; the one used last is used first
	spare  int               // bytes of the buffers in free
	bytes  int               // bytes of the messages on their way
	count  int               // number of the messages on their way
	peers  map[nid.NID]traffic
}

// Open prepares the outbox for use. It is called once.
func (o *Outbox[Note]) Open(t *Table, cfg OutboxConfig[Note]) {
	if cfg.Spare <= 0 {
		cfg.Spare = defaultSpare
	}
	o.table, o.cfg, o.event = t, cfg, o.happened
	if cfg.PeerBytes > 0 || cfg.PeerMessages > 0 || cfg.MaxMessages > 0 {
		o.peers = make(map[nid.NID]traffic)
	}
}

// Put sends a message to r.Target. The outbox sets the MD of r. With r.Ack the message counts
// as on its way until the target acknowledges it. If no ACK comes for as long as [Table.Put]
// waits, the message ends with ETIMEDOUT.
func (o *Outbox[Note]) Put(m *Outgoing[Note], r PutRequest) {
	if md, ok := o.bind(m, r.Target.NID, r.Ack); ok {
		r.MD = md
		o.began(m, md, o.table.Put(r))
	}
}

// PutMulticast sends a message to all members of a group. The outbox sets the MD of r. All
// messages to groups count as messages to one NID.
func (o *Outbox[Note]) PutMulticast(m *Outgoing[Note], r PutMulticastRequest) {
	if md, ok := o.bind(m, nid.Any(), false); ok {
		r.MD = md
		o.began(m, md, o.table.PutMulticast(r))
	}
}

// NotSent counts the messages that were done with an error.
func (o *Outbox[Note]) NotSent() uint64 { return o.notSent.Load() }

// InFlight returns how many bytes are on their way.
func (o *Outbox[Note]) InFlight() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

// Spare returns how many bytes of memory are kept for later messages.
func (o *Outbox[Note]) Spare() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.spare
}

// Close ends sending: later messages finish with [ErrOutboxClosed]. Messages that are in flight go
// on.
func (o *Outbox[Note]) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.free, o.spare = true, nil, 0
}

// bind makes an MD for a message. If it cannot, it finishes the message with the error and returns
// false.
func (o *Outbox[Note]) bind(m *Outgoing[Note], peer nid.NID, ack bool) (MDHandle, bool) {
	if err := o.admit(m, peer); err != nil {
		o.finish(m, err)
		return 0, false
	}
	md := MD{Segments: m.lay(), Threshold: 1, UserPtr: m, Handler: o.event}
	if m.Priority {
		md.Options = Priority
	}
	if ack {
		md.Threshold, md.Options = 2, md.Options|TrackResponse
	}
	handle, err := o.table.MDBind(md, Unlink)
	if err != nil {
		o.finish(m, err)
	}
	return handle, err == nil
}

// began ends a message if its Put or PutMulticast returned an error.
func (o *Outbox[Note]) began(m *Outgoing[Note], md MDHandle, err error) {
	if err != nil {
		m.err = err
		_ = o.table.MDUnlink(md) // causes the UNLINK event in which the message is finished
	}
}

// happened handles the events of a message's MD.
func (o *Outbox[Note]) happened(e *Event) {
	m := e.UserPtr.(*Outgoing[Note])
	switch {
	case m.err != nil:
	case e.Err != nil:
		m.err = e.Err
	case e.Kind == EventUnlink: // the outbox did not unlink it: no answer came in time
		m.err = syscall.ETIMEDOUT
	}
	if e.Unlinked {
		o.finish(m, m.err)
	} else if e.Err != nil {
		_ = o.table.MDUnlink(e.MD) // end the MD now, because no other event would end it
	}
}

// finish ends a message: it takes its memory back and calls Done.
func (o *Outbox[Note]) finish(m *Outgoing[Note], err error) {
	note := m.Note
	o.give(m)
	if err != nil {
		o.notSent.Add(1)
	}
	if o.cfg.Done != nil {
		o.cfg.Done(note, err)
	}
}
