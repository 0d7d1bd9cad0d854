package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"ulnet/cmd/internal/capturefile"
	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/lnd/capture"
)

const (
	// flushInterval is how old unwritten packets of a capture file may be, and how often the size
	// and age of the file are checked.
	flushInterval = 200 * time.Millisecond
	// rotateRetry is the time before a failed rotation is tried again.
	rotateRetry = time.Minute
)

// tap captures the daemon's messages: for viewers on the control socket, and for a file if one
// is configured. The goroutine of the method keep owns the fields below while it runs.
type tap struct {
	writer *capture.Writer
	cfg    config.Config
	file   *countedFile // nil: no file is configured, or the file has failed
	began  time.Time    // time at which the present file was begun
	failed time.Time    // time at which a rotation last failed

	quit, ended chan struct{} // quit is closed to end the goroutine of keep, which closes ended; nil: there is none
}

// countedFile is a file that counts the bytes written to it.
type countedFile struct {
	*os.File
	size atomic.Int64 // bytes written so far
}

// Write implements io.Writer.
func (f *countedFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.size.Add(int64(n))
	return n, err
}

// openTap begins the capture of a daemon that starts. Its file gets its name only by the method settle.
func openTap(cfg config.Config) (t *tap, err error) {
	t = &tap{cfg: cfg}
	var out io.Writer
	if cfg.Capture != "" {
		if t.file, err = create(cfg, capturefile.Begin); err != nil {
			return nil, err
		}
		out, t.began = t.file, time.Now()
	}
	if t.writer, err = capture.NewWriter(out, time.Now); err != nil {
		return nil, cli.Hint(errors.Join(fmt.Errorf("capture: %w", err), t.file.Close()), "choose a file that can be written with --capture")
	}
	return t, nil
}

// create creates the file of the capture by a function of package capturefile.
func create(cfg config.Config, by func(name string, keep int) (*os.File, error)) (*countedFile, error) {
	f, err := by(cfg.Capture, cfg.CaptureFiles)
	if err != nil {
		return nil, explain(err)
	}
	return &countedFile{File: f}, nil
}

// explain adds a hint to an error of package capturefile.
func explain(err error) error {
	hint := "choose a file that can be written with --capture"
	if errors.Is(err, capturefile.ErrForeign) || errors.Is(err, capturefile.ErrLink) {
		hint = "it is left as it is: choose another name with --capture"
	}
	return cli.Hint(fmt.Errorf("capture: %w", err), "%s", hint)
}

// settle gives the file its name once the daemon has started: captures of starts that fail, as a service manager
// repeats them, do not push out the good ones.
func (t *tap) settle() error {
	if t.file == nil {
		return nil
	}
	if err := capturefile.Settle(t.cfg.Capture, t.cfg.CaptureFiles, t.file.File); err != nil {
		return explain(err)
	}
	return nil
}

// keep flushes the file at short intervals, so that it can be read while the daemon runs. It
// rotates the file when that is too large or too old. It does so until close is called.
func (t *tap) keep(log *slog.Logger) {
	if t.file == nil {
		return
	}
	t.quit, t.ended = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(t.ended)
		tick := time.NewTicker(flushInterval)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				if err := t.tend(now); err != nil {
					log.Error("capture", slog.Any("err", err))
				}
			case <-t.quit:
				return
			}
		}
	}()
}

// tend flushes the file and rotates it if that is due. If writing to the file fails, tend
// returns the error once, and no more is written to the file. If a rotation fails, it is tried
// again later, and the capture continues in the old file.
func (t *tap) tend(now time.Time) error {
	if t.file == nil {
		return nil
	}
	if err := t.writer.Flush(); err != nil {
		err = errors.Join(fmt.Errorf("the file ends here: %w", err), t.file.Close())
		t.file = nil
		return err
	}
	large := t.cfg.CaptureSize > 0 && t.file.size.Load() >= int64(t.cfg.CaptureSize)<<20
	old := t.cfg.CaptureTime > 0 && now.Sub(t.began) >= t.cfg.CaptureTime
	if !large && !old || now.Sub(t.failed) < rotateRetry || !capturefile.Rotates(t.file.File) {
		return nil
	}
	return t.rotate(now)
}

// rotate continues the capture in a new file. If the new file cannot be begun, the capture continues in
// the present file, under the name that this file had before.
func (t *tap) rotate(now time.Time) error {
	next, err := create(t.cfg, capturefile.Create)
	if err != nil {
		t.failed = now
		return fmt.Errorf("no new file, the old one grows on: %w", err)
	}
	err = t.writer.Rotate(next)
	if errors.Is(err, capture.ErrNotRotated) {
		t.failed = now
		return fmt.Errorf("the old file grows on: %w", errors.Join(err, capturefile.Undo(t.cfg.Capture, next.File, t.file.File)))
	}
	err = errors.Join(err, t.file.Close())
	t.file, t.began, t.failed = next, now, time.Time{}
	return err
}

// close completes the file, but does not wait for a disk that does not answer.
func (t *tap) close() error {
	var err error
	late := waitBriefly(captureWithin, func() { err = t.end() })
	if late != nil { // err must not be read: t.end still runs, and may set it at any time
		return cli.Hint(fmt.Errorf("capture: its disk is slow or does not answer: %w", late), "the file is not complete")
	}
	if err != nil {
		return cli.Hint(fmt.Errorf("capture: %w", err), "the file is not complete")
	}
	return nil
}

// end ends the goroutine of keep, and closes the file.
func (t *tap) end() error {
	if t.quit != nil {
		close(t.quit)
		<-t.ended
	}
	err := t.writer.Close()
	if t.file != nil {
		err = errors.Join(err, t.file.Close())
	}
	return err
}
