package portals

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"ulnet/lnet/nid"
)

// InboxConfig says which messages an inbox receives.
type InboxConfig struct {
	Portal int // portal index, 0 to Portals-1
	// Buffers is the number of buffers that wait for a message (are posted) at any time, and the largest number that
	// is cached. When a message begins to arrive in a buffer, the inbox posts another one in its place, as long as at
	// most 256 such buffers, of 64 MiB together, are in use; with HandleFirst it does not. Messages of one neighbour
	// take at most a quarter of all buffers while they arrive, and further messages of that neighbour wait; for
	// routed messages the neighbour is the gateway. So with two buffers or more, a peer that does not send the rest
	// of its messages does not block those of other peers. 0: 4.
	Buffers int
	Size    int // bytes of each buffer: the largest message; 0: MaxPayload
	// MaxKept bounds the buffers that handlers keep, see [Inbox.Keep]: while that many are
	// kept, no further buffer is posted, and messages wait. Messages in buffers that were
	// posted before can still be kept. 0: Buffers.
	MaxKept int
	// Ack sends an ACK when Handle has returned, to senders that ask for one.
	Ack bool
	// Truncate takes a message that is longer than a buffer, cut to the buffer's length: see
	// Event.RLength. Without it such a message is dropped.
	Truncate bool
	// HandleFirst posts the next buffer when Handle has returned, not before: messages
	// that waited for a buffer are then handled in order.
	HandleFirst bool
	// Handle takes a message that arrived without an error. Several goroutines may call it at
	// once, as any event handler. Handle may use data until it returns or, if it calls Keep,
	// until Release.
	Handle func(e *Event, data []byte)
}

// Inbox receives all messages to a portal, whatever their sender and match bits, each in
// a buffer of its own. The portal is lazy: a message without a buffer waits. Unless
// HandleFirst is set, the inbox posts the next buffer before it calls Handle, so that a
// slow handler does not stop the arrival of messages. Inbox is a value with an Open, so
// that Handle, which may run before Open returns, can use it.
type Inbox struct {
	table     *Table
	cfg       InboxConfig
	event     func(*Event) // event handler, made once
	notPosted atomic.Uint64
	share     share // messages that are arriving, by the NIDs of their senders

	mu       sync.Mutex
	posted   []*inboxBuffer // buffers that wait for a message; guarded by mu, like all below
	arriving int            // number of buffers whose message has begun to arrive
	spare    []*inboxBuffer
	kept     int  // number of buffers that handlers keep
	filling  bool // a goroutine is running refill
	closed   bool
}

type inboxBuffer struct {
	inbox    *Inbox
	segments [1]Segment
	entry    MEHandle
	arriving bool   // a message has begun to arrive in this buffer
	handled  bool   // a Handle is running with this buffer
	kept     bool   // a handler keeps this buffer
	turn     uint64 // number of times that the buffer was kept
}

// errNoHandler means that the caller gave no Handle.
var errNoHandler = errors.New("portals: an inbox needs a Handle")

// ErrInUse says that another inbox is open at a portal, or that a bound was set there by [Table.SetShare].
const ErrInUse = syscall.EBUSY

// Open posts the buffers. Messages may arrive before it returns. Call it once. Errors: ErrInUse
// if another inbox is open on the portal, because this one would take its messages, or a bound was set there by
// [Table.SetShare]; and those of [Table.SetLazy], [Table.MEAttach] and [Table.MDAttach].
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
	if p := t.portal(cfg.Portal); p != nil && !p.claim(in, t, cfg) {
		return opError("Inbox.Open", ErrInUse)
	}
	if err := t.SetLazy(cfg.Portal); err != nil {
		return err
	}
	if err := in.refill(); err != nil {
		in.Close()
		return err
	}
	return nil
}

// claim registers an inbox as that of the portal, and configures it: messages may arrive from then on. It returns
// false if another inbox is open there, or a bound is set.
func (p *portal) claim(in *Inbox, t *Table, cfg InboxConfig) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.share != nil {
		return p.share.inbox == in
	}
	in.table, in.cfg, in.event = t, cfg, in.arrived
	in.share = share{portal: p, inbox: in, limit: cfg.share(), late: cfg.HandleFirst}
	p.share = &in.share
	return true
}

// Refill tries again to post the buffers that [Inbox.NotPosted] counts. Each arriving
// message does so, too, but without a posted buffer no message arrives.
func (in *Inbox) Refill() {
	if err := in.refill(); err != nil {
		in.notPosted.Add(1)
	}
}

// NotPosted returns how often a buffer could not be posted at once.
func (in *Inbox) NotPosted() uint64 { return in.notPosted.Load() }

// Posted returns how many buffers wait for a message.
func (in *Inbox) Posted() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.posted)
}

// Close withdraws the buffers; handlers that are running go on. The portal stops being lazy
// first, because messages that wait there stop the reading of their connections. Close may be
// called twice.
func (in *Inbox) Close() {
	_ = in.table.ClearLazy(in.cfg.Portal) // the portal exists, so there is no error
	in.mu.Lock()
	in.closed, in.spare = true, nil
	waiting := slices.Clone(in.posted)
	in.mu.Unlock()
	for _, b := range waiting {
		_ = in.table.MEUnlink(b.entry) // ENOENT means that a message has just taken the entry
	}
	in.table.portal(in.cfg.Portal).endShare(in)
}

// refill posts buffers up to the configured number. Waiting messages fill the buffers one after
// the other before refill returns. Their events call refill again, but that call does nothing:
// the goroutine that is already in the loop posts the next buffer.
func (in *Inbox) refill() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.filling {
		return nil
	}
	in.filling = true
	defer func() { in.filling = false }()
	for !in.closed && len(in.posted)+in.excess() < in.cfg.Buffers && in.kept < in.cfg.MaxKept {
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

// fromAny is a Match for every message.
var fromAny = Match{ID: nid.ProcessID{NID: nid.Any(), PID: nid.PIDAny}, Ignore: ^uint64(0)}

// attach attaches b, which then waits for a message.
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
		_ = in.table.MEUnlink(b.entry) // ENOENT means that Close has unlinked it already
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
	return &inboxBuffer{inbox: in, segments: [1]Segment{make([]byte, in.cfg.Size)}}
}

// give caches a buffer, or leaves it to the garbage collector if there are enough. The
// caller holds in.mu.
func (in *Inbox) give(b *inboxBuffer) {
	if len(in.spare) < in.cfg.Buffers && !in.closed {
		in.spare = append(in.spare, b)
	}
}

// withdraw takes a buffer off the list of posted ones. The caller holds in.mu.
func (in *Inbox) withdraw(b *inboxBuffer) {
	if i := slices.Index(in.posted, b); i >= 0 {
		in.posted = slices.Delete(in.posted, i, i+1)
	}
}

// arrived handles the event of one buffer.
func (in *Inbox) arrived(e *Event) {
	b := e.UserPtr.(*inboxBuffer)
	in.mu.Lock()
	if b.arriving {
		b.arriving = false
		in.arriving--
	} else {
		in.withdraw(b)
	}
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

// Spare is how many buffers are cached for later messages. It is at most InboxConfig.Buffers. A buffer
// comes back to this cache when the handler that used it has returned.
func (in *Inbox) Spare() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.spare)
}
