package discovery

import (
	"errors"
	"log/slog"
	"slices"
	"sync"

	"ulnet/lnd"
	"ulnet/lnet/discovery/engine"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// pushesAtOnce is how many pushes can be received at a time. Kernels receive only one: a peer that
// begins a push and does not send all of its bytes blocks the pushes of all others.
const pushesAtOnce = 10

// pushShare is how many of these pushes may come from one neighbour; the neighbour of a routed push is the
// gateway, see [portals.Table.SetShare]. A stranger that begins pushes on many connections must not stop the
// pushes of other nodes, nor the messages that follow these pushes on the same connections.
const pushShare = 2

// pushTarget takes pushes (ln_push_target): MDs on portal 0 for one PUT each. The portal is
// lazy, so that a push waits while no MD is posted. PUTs to it that are no pushes are dropped.
type pushTarget struct {
	table *portals.Table
	push  func(engine.Input) // called for each push; again is called when it has been handled

	mu      sync.Mutex
	maxSize int           // bytes of the largest push to take; guarded by mu, like all below
	size    int           // bytes of the largest push so far
	posted  []*pushBuffer // buffers that wait for a push or receive one
	taken   []*pushBuffer // buffers of pushes that have been read, but not handled yet
	closed  bool
}

// pushBuffer is memory for one incoming push.
type pushBuffer struct {
	target *pushTarget
	bytes  []byte
	entry  portals.MEHandle
}

func (t *pushTarget) start() error {
	if err := t.table.SetLazy(wire.PingPortal); err != nil {
		return err
	}
	if err := t.table.SetShare(wire.PingPortal, pushShare); err != nil {
		return err
	}
	if err := t.table.SetLazyBits(wire.PingPortal, wire.PingMatchBits); err != nil {
		return err
	}
	t.size = wire.PingInfoSize(wire.MinPingEntries)
	for range pushesAtOnce {
		if err := t.post(&pushBuffer{target: t}); err != nil {
			t.close()
			return err
		}
	}
	return nil
}

// post attaches an MD with the memory of b, for one push.
func (t *pushTarget) post(b *pushBuffer) error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	if t.size > len(b.bytes) {
		b.bytes = make([]byte, t.size)
	}
	entry, err := t.table.MEAttach(wire.PingPortal, portals.Match{Bits: wire.PingMatchBits}, portals.Unlink, portals.After)
	if err == nil {
		b.entry = entry
		t.posted = append(t.posted, b)
	}
	t.mu.Unlock()
	if err != nil {
		return err
	}
	// A push may be in the MD before this returns.
	_, err = t.table.MDAttach(entry, portals.MD{
		Segments: []lnd.Segment{b.bytes}, Threshold: 1,
		Options: portals.OpPut | portals.Truncate, Handler: b.event,
	}, portals.Unlink)
	if err != nil {
		return errors.Join(err, t.table.MEUnlink(entry))
	}
	return nil
}

// event passes a push that has arrived to the agent.
func (b *pushBuffer) event(e *portals.Event) {
	if e.Kind != portals.EventPut {
		return
	}
	t := b.target
	in := came(e, engine.Input{Kind: engine.Pushed, Err: e.Err})
	in.Known = t.table.Node().HasPeer(in.Remote)
	if e.Err == nil {
		in.Info, in.Need, in.Err = parseInfo(e.Bytes(), len(e.Segments[0]))
	}
	t.mu.Lock() // the push in b has been parsed. So the next call of again may post b, even if that call is for another push
	t.posted = slices.DeleteFunc(t.posted, func(o *pushBuffer) bool { return o == b })
	t.taken = append(t.taken, b)
	t.mu.Unlock()
	t.push(in)
}

// again posts a buffer again after a push of size bytes has been handled. If buffers are
// smaller than that push, all of them grow.
func (t *pushTarget) again(size int) {
	t.mu.Lock()
	free := []*pushBuffer{t.taken[0]}
	t.taken = slices.Delete(t.taken, 0, 1)
	if size = min(size, t.maxSize); size > t.size {
		t.size = size
		free = append(free, t.posted...)
	}
	t.mu.Unlock()
	for i, b := range free {
		if i > 0 && !t.withdraw(b) {
			continue // a push is arriving in this buffer, which therefore grows only when it is posted again
		}
		if err := t.post(b); err != nil {
			t.table.Node().Log().Error("no room for a push", slog.Any("err", err))
		}
	}
}

// setMaxSize changes the size of the largest push to take.
func (t *pushTarget) setMaxSize(bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.maxSize = bytes
}

// withdraw takes b back, unless a push is arriving in it.
func (t *pushTarget) withdraw(b *pushBuffer) bool {
	if t.table.MEUnlink(b.entry) != nil {
		return false
	}
	t.mu.Lock()
	t.posted = slices.DeleteFunc(t.posted, func(o *pushBuffer) bool { return o == b })
	t.mu.Unlock()
	return true
}

// close withdraws the buffers; pushes that arrive later are dropped.
func (t *pushTarget) close() {
	t.mu.Lock()
	t.closed = true
	posted := slices.Clone(t.posted)
	t.mu.Unlock()
	for _, b := range posted {
		_ = t.table.MEUnlink(b.entry) // ENOENT means that a push is just arriving
	}
	_ = t.table.ClearLazy(wire.PingPortal)
}

// parseInfo parses what a ping or push brought into a buffer of room bytes. An
// info that was cut because it is larger is no error: need says how many bytes
// it has.
func parseInfo(b []byte, room int) (info wire.PingInfo, need int, err error) {
	info, _, err = wire.ParsePingInfo(b)
	var short *wire.TruncatedError
	if errors.As(err, &short) && short.Size > room && len(b) >= wire.PingInfoSize(1) {
		return info, short.Size, nil
	}
	return info, 0, err
}
