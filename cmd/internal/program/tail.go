package program

import (
	"bytes"
	"sync"
)

// tail keeps the last bytes that are written to it.
type tail struct {
	mu    sync.Mutex
	limit int
	kept  []byte // the end of the output; guarded by mu
	cut   bool   // earlier output was dropped; guarded by mu
}

// Write appends b. It never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if over := len(t.kept) + n - t.limit; over > 0 {
		t.cut = true
		if over >= len(t.kept) {
			t.kept, b = t.kept[:0], b[over-len(t.kept):]
		} else {
			t.kept = append(t.kept[:0], t.kept[over:]...)
		}
	}
	t.kept = append(t.kept, b...)
	return n, nil
}

// bytes returns the kept bytes, and whether there were more.
func (t *tail) bytes() ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.kept), t.cut
}
