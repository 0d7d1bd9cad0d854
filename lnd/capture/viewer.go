package capture

import (
	"bytes"
	"io"
)

// maxPending bounds the bytes that wait for one viewer.
const maxPending = 8 << 20

// viewer is a recorder that writes into memory, from where another goroutine takes the bytes.
// The Writer's mutex guards it.
type viewer struct {
	*recorder
	pending bytes.Buffer
	spare   []byte
	wake    chan struct{} // holds a token while pending is not empty
}

func newViewer() *viewer {
	v := &viewer{wake: make(chan struct{}, 1)}
	v.recorder, _ = newRecorder(&v.pending) // writing to memory does not fail
	v.room = func(size int) bool { return v.pending.Len()+size+64<<10 <= maxPending }
	v.written = v.signal
	v.signal()
	return v
}

func (v *viewer) signal() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// drain writes the bytes in v.pending to out.
func (v *viewer) drain(w *Writer, out io.Writer) error {
	w.mu.Lock()
	_ = v.flush() // writing to memory does not fail
	full := v.pending.Bytes()
	v.pending = *bytes.NewBuffer(v.spare[:0])
	dropped := v.dropped
	w.mu.Unlock()
	v.spare = full
	if d, ok := out.(interface{ Dropped(packets uint64) }); ok {
		d.Dropped(dropped)
	}
	if _, err := out.Write(full); err != nil {
		return err
	}
	if f, ok := out.(interface{ Flush() }); ok {
		f.Flush()
	}
	return nil
}
