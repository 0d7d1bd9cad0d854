package portals

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"ulnet/lnet/nid"
)

// InboxConfig says what an inbox receives.
type InboxConfig struct {
	Portal  int
	Buffers int // that wait at any time, and that are kept for later at most; 0: 4
	Size    int // of each in bytes: the largest message; 0: MaxPayload
	// MaxKept bounds the buffers that handlers keep, see [Inbox.Keep]: when they have so
	// many no further one is posted, so that messages wait, until one is released. Those
	// that are posted then can be kept, too. 0: Buffers.
	MaxKept int
	// Ack has those who ask for an ACK get one, when Handle has returned.
	Ack bool
	// Truncate takes what is longer than a buffer, cut to its length: see Event.RLength.
	// Otherwise it is dropped.
	Truncate bool
	// HandleFirst has the next buffer posted when Handle has returned, not before: messages
	// that waited for a buffer are handled in their order then.
	HandleFirst bool
	// Handle takes a message that arrived without an error. It is called like any
	// handler of events, by several goroutines at once, and data is its own until it
	// returns, or for longer if it calls Keep.
	Handle func(e *Event, data []byte)
}

// Inbox receives the messages that anybody sends to a portal, whatever their match
// bits, each in a buffer of its own. The portal is lazy: what finds no buffer waits.
// The next buffer is posted before a message is handled, unless HandleFirst is set, so that
// a handler that takes its time keeps nothing from arriving.
// It is a value with an Open, so that what the handler starts may use it already.
type Inbox struct {
	table     *Table
	cfg       InboxConfig
	event     func(*Event) // made once
	notPosted atomic.Uint64

	mu      sync.Mutex
	posted  []*inboxBuffer // guarded by mu, like all below
	spare   []*inboxBuffer
	kept    int  // buffers that handlers keep
	filling bool // somebody is in Refill
	closed  bool
}

type inboxBuffer struct {
	segments [1]Segment
	entry    MEHandle
	handled  bool   // by Handle
	kept     bool   // by a handler
	turn     uint64 // how often it was
}

// errNoHandler is a mistake of the caller.
var errNoHandler = errors.New("portals: an inbox needs a Handle")

// ErrInUse says that another inbox is open at a portal.
const ErrInUse = syscall.EBUSY

// Open posts the buffers. Messages may arrive before it returns. Call it once. Errors: ErrInUse
// if another inbox, whose messages this one would take, is open on the portal, and those of
// [Table.SetLazy], [Table.MEAttach] and [Table.MDAttach].
func (in *Inbox) Open(t *Table, cfg InboxConfig) error {
	if cfg.Handle == nil {
		return errNoHandler
	}
	if cfg.Buffers <= 0 {
		cfg.Buffers = 4
	}
	if cfg.Size <= 0 {
		cfg.Size = MaxPayload
	}
	if cfg.MaxKept <= 0 {
		cfg.MaxKept = cfg.Buffers
	}
	if p := t.portal(cfg.Portal); p != nil && !p.claim(in) {
		return opError("Inbox.Open", ErrInUse)
	}
	if err := t.SetLazy(cfg.Portal); err != nil {
		return err
	}
	in.table, in.cfg, in.event = t, cfg, in.arrived
	if err := in.refill(); err != nil {
		in.Close()
		return err
	}
	return nil
}

// claim makes an inbox that of the portal, unless that has another one.
func (p *portal) claim(in *Inbox) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inbox == nil {
		p.inbox = in
	}
	return p.inbox == in
}

// disclaim takes claim back.
func (p *portal) disclaim(in *Inbox) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inbox == in {
		p.inbox = nil
	}
}

// Refill tries again to post what [Inbox.NotPosted] counts. Each message that arrives
// does so, too, but when no buffer is left none arrives.
func (in *Inbox) Refill() {
	if err := in.refill(); err != nil {
		in.notPosted.Add(1)
	}
}

// NotPosted is how often a buffer could not be posted at once.
func (in *Inbox) NotPosted() uint64 { return in.notPosted.Load() }

// Posted is how many buffers wait for a message.
func (in *Inbox) Posted() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.posted)
}

// Close takes the buffers back; a handler that runs goes on. The portal stops being
// lazy first: what waits there would keep the connections of others from being read.
// It may be called twice.
func (in *Inbox) Close() {
	_ = in.table.ClearLazy(in.cfg.Portal) // it exists
	in.mu.Lock()
	in.closed, in.spare = true, nil
	waiting := slices.Clone(in.posted)
	in.mu.Unlock()
	for _, b := range waiting {
		_ = in.table.MEUnlink(b.entry) // ENOENT: a message has just taken it
	}
	in.table.portal(in.cfg.Portal).disclaim(in)
}

// refill posts as many buffers as there should be. Messages that waited are in them
// before it returns, one after the other: their events leave it to the caller who is
// at it to post the next.
func (in *Inbox) refill() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.filling {
		return nil
	}
	in.filling = true
	defer func() { in.filling = false }()
	for !in.closed && len(in.posted) < in.cfg.Buffers && in.kept < in.cfg.MaxKept {
		b := in.take()
		entry, err := in.table.MEAttach(in.cfg.Portal, fromAny, Unlink, After)
		if err == nil {
			b.entry = entry
			in.posted = append(in.posted, b)
			in.mu.Unlock()
			err = in.attach(b)
			in.mu.Lock()
		}
		if err != nil {
			in.withdraw(b)
			in.give(b)
			return err
		}
	}
	return nil
}

// fromAny matches every message.
var fromAny = Match{ID: nid.ProcessID{NID: nid.Any(), PID: nid.PIDAny}, Ignore: ^uint64(0)}

// attach makes a buffer ready for a message.
func (in *Inbox) attach(b *inboxBuffer) error {
	options := OpPut | AckDisable
	if in.cfg.Ack {
		options = OpPut
	}
	if in.cfg.Truncate {
		options |= Truncate
	}
	_, err := in.table.MDAttach(b.entry, MD{
		Segments: b.segments[:], Threshold: 1, Options: options, UserPtr: b, Handler: in.event,
	}, Unlink)
	if err != nil {
		_ = in.table.MEUnlink(b.entry) // ENOENT: Close was faster
	}
	return err
}

// take returns a spare buffer. The caller holds in.mu.
func (in *Inbox) take() *inboxBuffer {
	if n := len(in.spare); n > 0 {
		b := in.spare[n-1]
		in.spare = in.spare[:n-1]
		return b
	}
	return &inboxBuffer{segments: [1]Segment{make([]byte, in.cfg.Size)}}
}

// give keeps a buffer for later, or leaves it to the garbage collector if there are
// enough. The caller holds in.mu.
func (in *Inbox) give(b *inboxBuffer) {
	if len(in.spare) < in.cfg.Buffers && !in.closed {
		in.spare = append(in.spare, b)
	}
}

// withdraw notes that a buffer is not posted any more. The caller holds in.mu.
func (in *Inbox) withdraw(b *inboxBuffer) {
	if i := slices.Index(in.posted, b); i >= 0 {
		in.posted = slices.Delete(in.posted, i, i+1)
	}
}

// arrived handles the event of a buffer.
func (in *Inbox) arrived(e *Event) {
	b := e.UserPtr.(*inboxBuffer)
	in.mu.Lock()
	in.withdraw(b)
	b.handled = true
	in.mu.Unlock()
	if e.Kind == EventPut && !in.cfg.HandleFirst {
		in.Refill()
	}
	if e.Kind == EventPut && e.Err == nil {
		in.cfg.Handle(e, b.segments[0][e.Offset:][:e.MLength])
	}
	in.mu.Lock()
	if b.handled = false; !b.kept {
		in.give(b)
	}
	in.mu.Unlock()
	if e.Kind == EventPut && in.cfg.HandleFirst {
		in.Refill()
	}
}

// Spare is how many buffers are kept for later: those of handlers that ran at the same
// time, and no more than wait.
func (in *Inbox) Spare() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.spare)
}
