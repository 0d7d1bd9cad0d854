package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/lnd/lndtest/spec"
)

// TestEndsWithin: OP-93: a daemon that does not end after a signal, or does not even start, ends with a
// failure after a while. If the daemon ends by itself, endsWithin returns the daemon's own error.
func TestEndsWithin(t *testing.T) {
	spec.Covers(t, "OP-93")
	synctest.Test(t, func(t *testing.T) {
		ctx, signalled := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, signalled)
		began, stuck := time.Now(), make(chan struct{})
		err := endsWithin(ctx, endTimeout, func() error { <-stuck; return nil })
		if took := time.Since(began); took != time.Hour+endTimeout || err == nil || cli.ExitCode(err) != cli.Failed || cli.HintOf(err) == "" {
			t.Errorf("after %v: %v, hint %q", took, err, cli.HintOf(err))
		}
		close(stuck)
		broken := errors.New("broken")
		for _, ctx := range []context.Context{ctx, t.Context()} { // the context of a daemon that was told to end, and of one that was not
			if err := endsWithin(ctx, endTimeout, func() error { time.Sleep(endTimeout / 2); return broken }); err != broken {
				t.Errorf("%v, want %v", err, broken)
			}
		}
	})
}

// TestHangupsStopInTime: OP-93: a reload that hangs delays the end of the daemon by stopWithin at
// most.
func TestHangupsStopInTime(t *testing.T) {
	spec.Covers(t, "OP-93")
	synctest.Test(t, func(t *testing.T) {
		h := &hangups{signals: make(chan os.Signal, 1), stopped: make(chan struct{})}
		stuck := make(chan struct{})
		h.serve(func() { <-stuck })
		h.signals <- syscall.SIGHUP
		synctest.Wait()
		began := time.Now()
		h.stop()
		if took := time.Since(began); took != stopWithin {
			t.Errorf("stop took %v, want %v", took, stopWithin)
		}
		close(stuck)
		<-h.ended
	})
}

// TestTapClosesInTime: OP-93: a capture whose disk does not answer delays the end of the daemon by
// captureWithin at most, and the error says that its file is not complete.
func TestTapClosesInTime(t *testing.T) {
	spec.Covers(t, "OP-93")
	synctest.Test(t, func(t *testing.T) {
		tap, err := openTap(config.Default())
		if err != nil {
			t.Fatal(err)
		}
		tap.quit, tap.ended = make(chan struct{}), make(chan struct{})
		began := time.Now()
		err = tap.close()
		if took := time.Since(began); took != captureWithin || err == nil || !strings.Contains(cli.HintOf(err), "not complete") {
			t.Errorf("after %v: %v", took, err)
		}
		close(tap.ended)
	})
}

// TestConfigurationIsAwaited: OP-93: a signal also ends a daemon that still waits for its configuration, from a
// pipe that no process writes to or from a disk that does not answer. That is no failure.
func TestConfigurationIsAwaited(t *testing.T) {
	spec.Covers(t, "OP-93")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, signalled := context.WithCancel(t.Context())
	var stderr strings.Builder
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, cli.Env{Stdout: io.Discard, Stderr: &stderr, Getenv: func(string) string { return "" }}, []string{"--config", pipe})
	}()
	signalled()
	select {
	case got := <-code:
		if got != cli.OK || !strings.Contains(stderr.String(), "before the configuration was read") {
			t.Errorf("exit code %d, want %d: %s", got, cli.OK, stderr.String())
		}
	case <-time.After(time.Minute):
		t.Error("it goes on waiting")
	}
	if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // ends the goroutine that opens the pipe
		f.Close()
	}
}
