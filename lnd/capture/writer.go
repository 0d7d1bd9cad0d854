package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd"
)

// Writer is the lnd.Tap that records what drivers send and receive, as
// pcapng: in a file, and for viewers that come and go. The time stamps are
// those of the calls. It is safe for concurrent use.
//
// A driver that is captured waits for the file; it never waits for a viewer.
// While there is neither, a Writer costs a driver no more than counting bytes,
// without a lock.
type Writer struct {
	now    func() time.Time
	sinks  atomic.Int32 // number of recorders that are open
	done   chan struct{}
	closed atomic.Bool

	// mu guards the fields below. It is taken after the mutex of a tapFlow.
	mu        sync.Mutex
	file      *recorder
	recorders []*recorder // the recorder of the file and those of the viewers
	flows     map[tuple]*tapFlow
	begun     uint64 // number of flows begun so far
	dropped   uint64 // packets dropped because viewers read too slowly
}

// maxViewers bounds the recorders of one Writer: those of its viewers, and that of its file.
const maxViewers = 16

// Errors of [Writer.View] and [Writer.Rotate].
var (
	ErrClosed     = errors.New("capture is closed")
	ErrViewers    = errors.New("too many viewers of the capture")
	ErrNotRotated = errors.New("the new file cannot be begun")
)

var _ lnd.Tap = (*Writer)(nil)

// NewWriter returns a Writer that records in file, which may be nil, with time
// stamps from now. It writes the beginning of the file; Close does not close
// the file.
func NewWriter(file io.Writer, now func() time.Time) (*Writer, error) {
	w := &Writer{now: now, done: make(chan struct{}), flows: map[tuple]*tapFlow{}}
	if file == nil {
		return w, nil
	}
	r, err := newRecorder(file)
	if err != nil {
		return nil, err
	}
	w.file, w.recorders = r, []*recorder{r}
	w.sinks.Store(1)
	return w, nil
}

// Flow begins the capture of a connection (lnd.Tap). If both ends of a connection are in this process,
// it returns nil for the second one, because the first one is captured already. If the flow of an
// earlier connection between the same addresses and ports is still open, Flow closes it, because the
// earlier connection has ended.
func (w *Writer) Flow(local, remote netip.AddrPort, dialled bool) lnd.Flow {
	f := &tapFlow{w: w, key: tupleOf(local, remote), local: Acceptor}
	f.ends = [2]netip.AddrPort{remote, local}
	if dialled {
		f.local, f.ends = Initiator, [2]netip.AddrPort{local, remote}
	}
	for side, end := range f.ends {
		f.ends[side] = netip.AddrPortFrom(end.Addr().Unmap().WithZone(""), end.Port())
	}
	f.ends[Acceptor] = netip.AddrPortFrom(f.ends[Acceptor].Addr(), AcceptPort)
	w.mu.Lock()
	for old := w.flows[f.key]; old != nil; old = w.flows[f.key] {
		w.mu.Unlock()
		if old.local != f.local {
			return nil
		}
		old.Close()
		w.mu.Lock()
	}
	defer w.mu.Unlock()
	if w.closed.Load() {
		return nil
	}
	w.begin(f)
	return f
}

// begin begins the capture of a connection in all recorders. The caller holds w.mu.
func (w *Writer) begin(f *tapFlow) {
	w.begun++
	f.id = w.begun
	w.flows[f.key] = f
	at := w.now()
	for _, r := range w.recorders {
		r.announce(f, at)
	}
}

// Rotate completes the file and continues in another one, which begins like the capture of a
// viewer, with the connections that are open. A message that is being sent meanwhile may be cut
// off in both files.
//
// An error that wraps ErrNotRotated means that the beginning of the new file could not be written, and the
// capture continues in the old one. After ErrClosed nothing has changed either, and there may have been no
// file at all. In these two cases the caller closes the new file. In all other cases the caller closes the
// old one; an error is then the first one of the old file, the new file, or both.
func (w *Writer) Rotate(file io.Writer) error {
	r, err := newRecorder(file)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotRotated, err)
	}
	w.mu.Lock()
	old := w.file
	if w.closed.Load() || old == nil {
		w.mu.Unlock()
		return ErrClosed
	}
	w.file = r
	open := w.add(r)
	w.mu.Unlock()
	w.announce(r, open)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed.Load() { // if the Writer is closed, all recorders are finished already
		old.finish(w.now())
		w.dropped += old.dropped
		w.remove(old)
	}
	return errors.Join(old.err, r.err)
}

// View writes the capture from now on to out, in pcapng, until ctx ends, the Writer is closed
// (both return nil) or out fails. Connections that are open already appear with their
// handshake, stamped with the present time, and then from the next bytes on that begin with a
// message.
//
// If out is too slow, packets are dropped, because drivers must not wait. Gaps in the
// sequence numbers show that, and the interface statistics at the end of the capture count
// them. If out has a method Dropped(packets uint64), it is called before each write with the
// number so far; if it has a method Flush(), that is called after each write. Besides the errors of
// out there are ErrClosed and ErrViewers.
func (w *Writer) View(ctx context.Context, out io.Writer) error { return w.view(ctx, out, false) }

// ViewHeaders is View for viewers that may see headers alone: payload, checksums and
// keys of memory are zeros.
func (w *Writer) ViewHeaders(ctx context.Context, out io.Writer) error { return w.view(ctx, out, true) }

func (w *Writer) view(ctx context.Context, out io.Writer, headersOnly bool) error {
	v := newViewer()
	v.headersOnly = headersOnly
	if err := w.attach(v.recorder); err != nil {
		return err
	}
	for goes := true; goes; {
		select {
		case <-v.wake:
			if err := v.drain(w, out); err != nil {
				w.detach(v)
				return err
			}
		case <-ctx.Done():
			goes = false
		case <-w.done:
			goes = false
		}
	}
	w.detach(v)
	return v.drain(w, out)
}

// attach adds a recorder and tells it about all open connections.
func (w *Writer) attach(r *recorder) error {
	w.mu.Lock()
	if err := w.refuse(); err != nil {
		w.mu.Unlock()
		return err
	}
	open := w.add(r)
	w.mu.Unlock()
	w.announce(r, open)
	return nil
}

// add adds a recorder, and returns the open connections. The caller holds w.mu, and has to release
// it before it announces these connections to the recorder.
func (w *Writer) add(r *recorder) (open []*tapFlow) {
	w.recorders = append(w.recorders, r)
	w.sinks.Add(1)
	return slices.SortedFunc(maps.Values(w.flows), func(a, b *tapFlow) int { return cmp.Compare(a.id, b.id) })
}

// announce tells a recorder about connections that are open.
func (w *Writer) announce(r *recorder, open []*tapFlow) {
	for _, f := range open {
		f.mu.Lock()
		w.mu.Lock()
		if w.flows[f.key] == f {
			r.announce(f, w.now())
		}
		w.mu.Unlock()
		f.mu.Unlock()
	}
}

// remove takes a recorder out. The caller holds w.mu.
func (w *Writer) remove(r *recorder) {
	w.recorders = slices.DeleteFunc(w.recorders, func(o *recorder) bool { return o == r })
	w.sinks.Store(int32(len(w.recorders)))
}

// refuse returns the error that says why there can be no further viewer, or nil.
func (w *Writer) refuse() error {
	switch {
	case w.closed.Load():
		return ErrClosed
	case len(w.recorders) >= maxViewers:
		return ErrViewers
	}
	return nil
}

// detach ends the capture of a viewer.
func (w *Writer) detach(v *viewer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropped += v.dropped
	if !w.closed.Load() { // if the Writer is closed, all recorders are finished already
		v.finish(w.now())
		w.remove(v.recorder)
	}
}

// Dropped returns the number of packets that were dropped because viewers read too slowly.
func (w *Writer) Dropped() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.dropped
	for _, r := range w.recorders {
		n += r.dropped
	}
	return n
}

// Flush writes out what is buffered for the file and returns the first error
// that the file has given.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	return w.file.flush()
}

// Close ends the capture: it completes the file and ends all viewers. Open
// connections stay open in it. It returns the first error that the file has
// given.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Swap(true) {
		return nil
	}
	at := w.now()
	for _, r := range w.recorders {
		r.finish(at)
	}
	w.recorders, w.flows = nil, map[tuple]*tapFlow{}
	w.sinks.Store(0)
	close(w.done)
	if w.file == nil {
		return nil
	}
	return w.file.err
}
