package cli

import (
	"cmp"
	"io"
	"sync"
)

// checkedWriter is the standard output of a command. It keeps its first error, and writes nothing after it.
type checkedWriter struct {
	to  io.Writer
	mu  sync.Mutex
	err error // guarded by mu
}

func (w *checkedWriter) Write(p []byte) (int, error) {
	if err := w.failed(); err != nil {
		return 0, err
	}
	n, err := w.to.Write(p)
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.err = cmp.Or(w.err, err)
	}
	return n, err
}

func (w *checkedWriter) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
