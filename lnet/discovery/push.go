package discovery

import (
	"errors"
	"log/slog"
	"sync"

	"ulnet/lnd"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// pushTarget takes pushes (ln_push_target): an MD on portal 0 for one PUT at a
// time. The portal is lazy, so that a push waits while none is posted.
type pushTarget struct {
	table   *portals.Table
	maxSize int
	push    func(Input) // called for each push; again is called when it has been handled

	mu     sync.Mutex
	buffer []byte           // guarded by mu; used again for the next push
	entry  portals.MEHandle // guarded by mu
	closed bool             // guarded by mu
}

func (t *pushTarget) start() error {
	if err := t.table.SetLazy(wire.PingPortal); err != nil {
		return err
	}
	return t.post(wire.PingInfoSize(wire.MinPingEntries))
}

// post waits for the next push with room for at least size bytes.
func (t *pushTarget) post(size int) error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	if size > len(t.buffer) {
		t.buffer = make([]byte, min(size, t.maxSize))
	}
	buffer := t.buffer
	entry, err := t.table.MEAttach(wire.PingPortal, portals.Match{Bits: wire.PingMatchBits}, portals.Unlink, portals.After)
	t.entry = entry
	t.mu.Unlock()
	if err != nil {
		return err
	}
	// A push may be in the MD before this returns.
	_, err = t.table.MDAttach(entry, portals.MD{
		Segments: []lnd.Segment{buffer}, Threshold: 1,
		Options: portals.OpPut | portals.Truncate, Handler: t.event,
	}, portals.Unlink)
	if err != nil {
		return errors.Join(err, t.table.MEUnlink(entry))
	}
	return nil
}

// event hands a push on.
func (t *pushTarget) event(e *portals.Event) {
	if e.Kind != portals.EventPut {
		return
	}
	in := Input{Kind: Pushed, Local: e.Target.NID, Remote: e.Source.NID, Err: e.Err}
	in.Known = t.table.Node().HasPeer(in.Remote)
	if e.Err == nil {
		in.Info, in.Need, in.Err = parseInfo(e.Bytes(), len(e.Segments[0]))
	}
	t.push(in)
}

// again makes room for the next push when one has been handled: larger, if
// that one did not fit.
func (t *pushTarget) again(size int) {
	if err := t.post(size); err != nil {
		t.table.Node().Log().Error("no room for pushes", slog.Any("err", err))
	}
}

// close takes no more pushes. They are dropped then.
func (t *pushTarget) close() {
	t.mu.Lock()
	t.closed = true
	entry := t.entry
	t.mu.Unlock()
	_ = t.table.MEUnlink(entry) // ENOENT: a push is just arriving
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
