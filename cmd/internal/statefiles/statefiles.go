// Package statefiles shows the state of a module as plain files, which an operator can read
// with cat, cp and tar. A file is replaced as a whole, by renaming, at most once a second and
// only if it has changed or is no longer there. Only its owner and group may read it, because the names of clients
// would allow others to impersonate them.
package statefiles

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// period is the shortest time between two updates.
	period = time.Second
	// share bounds the processor time of updates: 1/share of one core.
	share = 200
)

// File is one file that shows a state.
type File struct {
	Name string // name of the file in Config.Dir
	Head []byte // first lines, such as a clock; if only Head has changed, the file is not written again
	Body []byte // contents after Head
}

// Config configures a [Writer].
type Config struct {
	// Dir is the directory of the files, which has no other files. It is created with the first
	// file.
	Dir string
	// Names are the names of all files that Source may return. At the start, files with these names
	// that another writer has left are removed.
	Names []string
	// Source returns the files that should exist now.
	Source func() []File
	Log    *slog.Logger // nil: nothing is logged
}

// Writer keeps the files of a directory up to date.
type Writer struct {
	cfg     Config
	written map[string][]byte // bodies of the files as written; owned by run
	failing bool              // the last write failed; owned by run
	quit    chan struct{}
	ended   chan struct{}
}

// Start returns a Writer, which has one goroutine until Stop.
func Start(cfg Config) *Writer {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	w := &Writer{cfg: cfg, written: map[string][]byte{}, quit: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w
}

// Stop removes the files, and the directory if it is then empty.
func (w *Writer) Stop() {
	close(w.quit)
	<-w.ended
}

func (w *Writer) run() {
	defer close(w.ended)
	w.clear()
	defer w.clear()
	for {
		var err error
		took := worked(func() { err = w.update() })
		w.report(err)
		timer := time.NewTimer(max(period, share*took))
		select {
		case <-timer.C:
		case <-w.quit:
			timer.Stop()
			return
		}
	}
}

// worked returns the processor time that f took. Time in which f waited is not included.
// Otherwise the files would be updated rarely on a busy machine, just when an operator needs
// them.
func worked(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	f()
	return threadTime() - before
}

// threadTime returns the processor time that this thread has used. Tests replace it.
var threadTime = func() time.Duration {
	var use unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &use) // cannot fail with these arguments
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// clear removes the files of this Writer or an earlier one.
func (w *Writer) clear() {
	for _, name := range w.cfg.Names {
		_ = os.Remove(filepath.Join(w.cfg.Dir, name)) // an error is ignored, since the file may not exist
	}
	_ = os.Remove(w.temporary())
	if info, err := os.Lstat(w.cfg.Dir); err == nil && info.IsDir() {
		_ = os.Remove(w.cfg.Dir) // succeeds only if the directory is empty
	}
	clear(w.written)
}

// temporary returns the path at which a file is written before it is renamed: outside the
// directory, so that a copy of the directory never contains an incomplete file.
func (w *Writer) temporary() string { return w.cfg.Dir + ".tmp" }

// update writes and removes files so that they are those that Source returns.
func (w *Writer) update() error {
	files := w.cfg.Source()
	var errs []error
	if len(files) > 0 {
		errs = append(errs, os.MkdirAll(w.cfg.Dir, 0o750))
	}
	wanted := map[string]bool{}
	for _, f := range files {
		wanted[f.Name] = true
		if body, ok := w.written[f.Name]; ok && bytes.Equal(body, f.Body) && w.has(f.Name) {
			continue
		}
		if err := w.write(f); err != nil {
			errs = append(errs, err)
			continue
		}
		w.written[f.Name] = f.Body
	}
	for name := range w.written {
		if wanted[name] {
			continue
		}
		if err := os.Remove(filepath.Join(w.cfg.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		delete(w.written, name)
	}
	return errors.Join(errs...)
}

// has reports whether a file is there. Another program may have removed it, such as one that removes old files.
func (w *Writer) has(name string) bool {
	info, err := os.Lstat(filepath.Join(w.cfg.Dir, name))
	return err == nil && info.Mode().IsRegular()
}

func (w *Writer) write(f File) error {
	tmp := w.temporary()
	if err := os.WriteFile(tmp, append(bytes.Clone(f.Head), f.Body...), 0o640); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(w.cfg.Dir, f.Name))
}

// report logs when writing starts to fail and when it works again.
func (w *Writer) report(err error) {
	if failing := err != nil; failing != w.failing {
		w.failing = failing
		if failing {
			w.cfg.Log.Warn("state files are not up to date", slog.String("dir", w.cfg.Dir), slog.Any("err", err))
		} else {
			w.cfg.Log.Info("state files are up to date again", slog.String("dir", w.cfg.Dir))
		}
	}
}
