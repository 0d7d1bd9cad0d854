package main

import (
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ulnet/cmd/internal/capturefile"
	"ulnet/cmd/internal/config"
)

// begunTap returns the tap of a daemon that has started.
func begunTap(cfg config.Config) (*tap, error) {
	t, err := openTap(cfg)
	if err == nil {
		err = t.settle()
	}
	return t, err
}

// TestCaptureFile: only its owner can read a capture file, and packets are in the file while the
// daemon runs.
func TestCaptureFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lnet.pcapng")
	tap, err := begunTap(config.Config{Capture: path})
	if err != nil {
		t.Fatal(err)
	}
	tap.keep(slog.New(slog.DiscardHandler))
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
		return info.Size()
	}
	before := size()
	tap.writer.Flow(netip.MustParseAddrPort("10.0.0.1:1023"), netip.MustParseAddrPort("10.0.0.2:988"), true)
	late := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for size() == before {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("a connection that began is not in the file")
		}
	}
	if err := tap.close(); err != nil {
		t.Error(err)
	}
}

// TestCaptureRotates: a file that is too large or too old is followed by a new one, and the
// configured number of old files is kept.
func TestCaptureRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lnet.pcapng")
	cfg := config.Config{Capture: path, CaptureSize: 1, CaptureTime: time.Hour, CaptureFiles: 2}
	tap, err := begunTap(cfg)
	if err != nil {
		t.Fatal(err)
	}
	now := tap.began
	files := func() int {
		list, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	step := func(after time.Duration, want int) {
		t.Helper()
		now = now.Add(after)
		if err := tap.tend(now); err != nil {
			t.Error(err)
		}
		if got := files(); got != want {
			t.Errorf("%d files, want %d", got, want)
		}
	}
	step(time.Hour-1, 1)
	step(1, 2)
	tap.writer.Datagram(netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("239.76.0.1:2"), true, [][]byte{make([]byte, 60<<10)})
	step(time.Minute, 2)
	for range 18 {
		tap.writer.Datagram(netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("239.76.0.1:2"), true, [][]byte{make([]byte, 60<<10)})
	}
	step(time.Second, 3)
	step(time.Hour, 3) // the oldest file is deleted
	if err := tap.close(); err != nil {
		t.Error(err)
	}
}

// TestCaptureRotationFails: if a rotation fails, the capture continues in the current file, and
// the rotation is tried again later.
func TestCaptureRotationFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lnet.pcapng")
	tap, err := begunTap(config.Config{Capture: path, CaptureTime: time.Second, CaptureFiles: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".1", []byte("no capture"), 0o600); err != nil {
		t.Fatal(err)
	}
	now := tap.began.Add(time.Second)
	if err := tap.tend(now); !errors.Is(err, capturefile.ErrForeign) {
		t.Errorf("error %v, want ErrForeign", err)
	}
	if err := os.Remove(path + ".1"); err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{rotateRetry - 1, rotateRetry} {
		if err := tap.tend(now.Add(after)); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path + ".1"); (err == nil) != (after == rotateRetry) {
			t.Errorf("%v after a failure: %v", after, err)
		}
	}
	if err := tap.close(); err != nil {
		t.Error(err)
	}
}
