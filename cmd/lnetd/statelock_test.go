package main

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
)

// TestLockState: without a lock the daemon runs only where the file system has no locks, and then it knows that
// it runs without. Every other error of flock ends the start. A signal that interrupts flock makes it lock again.
func TestLockState(t *testing.T) {
	dir := t.TempDir()
	for cause, unlocked := range map[syscall.Errno]bool{
		syscall.ENOLCK: true, syscall.ENOTSUP: true, syscall.ENOSYS: true, syscall.EINVAL: true, syscall.EBADF: true,
		syscall.EIO: false, syscall.EACCES: false, syscall.ENOMEM: false,
	} {
		lock, err := lockState(dir, func(int, int) error { return cause })
		switch {
		case unlocked && (err != nil || !errors.Is(lock.missing, cause)):
			t.Errorf("%v: lock %+v, error %v", cause, lock, err)
		case !unlocked && (!errors.Is(err, cause) || !strings.Contains(err.Error(), dir) || cli.HintOf(err) == ""):
			t.Errorf("%v: error %v, hint %q", cause, err, cli.HintOf(err))
		}
		lock.release()
		var log strings.Builder
		warnUnlocked(slog.New(slog.NewTextHandler(&log, nil)), dir, cause)
		if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, dir) {
			t.Errorf("%v: log %q", cause, text)
		}
	}
	interrupted := true
	first, err := lockState(dir, func(fd, how int) error {
		if interrupted {
			interrupted = false
			return syscall.EINTR
		}
		return syscall.Flock(fd, how)
	})
	if err != nil || first.missing != nil {
		t.Fatal(err, first.missing)
	}
	if _, err := lockState(dir, syscall.Flock); err == nil || !strings.Contains(err.Error(), "another lnetd") {
		t.Errorf("a second lock: %v", err)
	}
	first.release()
	none, err := lockState(filepath.Join(dir, "none"), syscall.Flock)
	if err != nil || none.missing != nil { // the modules report that
		t.Errorf("without directory: lock %+v, error %v", none, err)
	}
}
