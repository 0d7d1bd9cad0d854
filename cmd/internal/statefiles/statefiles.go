// Package statefiles shows the state of a module as plain files, for cat, cp,
// tar and whoever has nothing else at three in the morning. A file is renamed
// into place as a whole, at most once a second, and only when it changed. The owner and
// its group may read it: what a client is called lets others pass for it.
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
	// period is the time between two looks at the state.
	period = time.Second
	// share of a processor that looking may take: at most 1 of so many.
	share = 200
)

// File is one file. Head says what its Body is true of, such as a clock; a
// change of Head alone is none.
type File struct {
	Name string
	Head []byte
	Body []byte
}

// Config configures a [Writer].
type Config struct {
	// Dir is where the files are. It is made with the first one; nothing else
	// should be there.
	Dir string
	// Names are those of all files that Source may return. What has such a
	// name, and is not from this Writer, is removed.
	Names []string
	// Source returns the files that there should be now.
	Source func() []File
	Log    *slog.Logger // nil discards
}

// Writer keeps the files of a directory as they should be.
type Writer struct {
	cfg     Config
	written map[string][]byte // bodies; owned by run
	failing bool              // the last write failed; owned by run
	quit    chan struct{}
	ended   chan struct{}
}

// Start returns a Writer, which has a goroutine until Stop.
func Start(cfg Config) *Writer {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	w := &Writer{cfg: cfg, written: map[string][]byte{}, quit: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w
}

// Stop removes the files, and the directory if it is empty then.
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

// worked returns the processor time that f took. The time that it waited does not count:
// on a busy machine the files would be old just when somebody looks at them.
func worked(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	f()
	return threadTime() - before
}

func threadTime() time.Duration {
	var use unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &use) // cannot fail with these arguments
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// clear removes what this or an earlier Writer has left.
func (w *Writer) clear() {
	for _, name := range w.cfg.Names {
		_ = os.Remove(filepath.Join(w.cfg.Dir, name)) // it may not be there
	}
	_ = os.Remove(w.temporary())
	if info, err := os.Lstat(w.cfg.Dir); err == nil && info.IsDir() {
		_ = os.Remove(w.cfg.Dir) // only if it is empty
	}
	clear(w.written)
}

// temporary is where a file is written: beside the directory, so that nobody
// copies half of it.
func (w *Writer) temporary() string { return w.cfg.Dir + ".tmp" }

// update makes the files what they should be.
func (w *Writer) update() error {
	files := w.cfg.Source()
	var errs []error
	if len(files) > 0 {
		errs = append(errs, os.MkdirAll(w.cfg.Dir, 0o750))
	}
	wanted := map[string]bool{}
	for _, f := range files {
		wanted[f.Name] = true
		if body, ok := w.written[f.Name]; ok && bytes.Equal(body, f.Body) {
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

func (w *Writer) write(f File) error {
	tmp := w.temporary()
	if err := os.WriteFile(tmp, append(bytes.Clone(f.Head), f.Body...), 0o640); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(w.cfg.Dir, f.Name))
}

// report logs that writing begins to fail, or works again.
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
