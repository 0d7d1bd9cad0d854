package statelock

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
)

// TestTake: without a lock the daemon runs only where the file system has no locks, and then its log says
// that it runs without. Every other error of flock ends the start. A signal that interrupts flock makes it lock again.
func TestTake(t *testing.T) {
	dir := t.TempDir()
	for cause, unlocked := range map[syscall.Errno]bool{
		syscall.ENOLCK: true, syscall.ENOTSUP: true, syscall.ENOSYS: true, syscall.EINVAL: true, syscall.EBADF: true,
		syscall.EIO: false, syscall.EACCES: false, syscall.ENOMEM: false,
	} {
		lock, err := take(dir, func(int, int) error { return cause })
		var log strings.Builder
		lock.LogTo(slog.New(slog.NewTextHandler(&log, nil)))
		switch text := log.String(); {
		case unlocked && (err != nil || !strings.Contains(text, "level=WARN") || !strings.Contains(text, dir) || !strings.Contains(text, cause.Error())):
			t.Errorf("%v: error %v, log %q", cause, err, text)
		case !unlocked && (!errors.Is(err, cause) || !strings.Contains(err.Error(), dir) || cli.HintOf(err) == "" || text != ""):
			t.Errorf("%v: error %v, hint %q, log %q", cause, err, cli.HintOf(err), text)
		}
		lock.Release()
	}
	interrupted := true
	first, err := take(dir, func(fd, how int) error {
		if interrupted {
			interrupted = false
			return syscall.EINTR
		}
		return syscall.Flock(fd, how)
	})
	if err != nil {
		t.Fatal(err)
	}
	wantTaken(t, dir)
	first.Release()
	wantFree(t, dir)
}

// wantTaken checks that a second daemon is told that another one uses the directory.
func wantTaken(t *testing.T, dir string) {
	t.Helper()
	second, err := Take(dir)
	if err == nil || !strings.Contains(err.Error(), "another lnetd") {
		t.Errorf("a second lock: %v", err)
	}
	second.Release()
}

// wantFree checks that another daemon could lock the directory.
func wantFree(t *testing.T, dir string) {
	t.Helper()
	next, err := Take(dir)
	if err != nil {
		t.Errorf("a lock after the end of the first: %v", err)
	}
	next.Release()
}

// TestHold: the next Hold locks a directory that was made after the start, and one that has taken the place of a locked
// directory, as after a mount. Hold of a second daemon fails then. The earlier directory stays locked.
func TestHold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	first, err := Take(dir)
	if err != nil {
		t.Fatal("without directory:", err)
	}
	second, err := Take(dir)
	if err != nil {
		t.Fatal("without directory:", err)
	}
	olds := []string{dir + ".1", dir + ".2"}
	for _, old := range olds {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second call finds its own lock
			if err := first.Hold(); err != nil {
				t.Error("the first daemon:", err)
			}
		}
		if err := second.Hold(); err == nil || !strings.Contains(err.Error(), "another lnetd") {
			t.Error("the second daemon:", err)
		}
		if err := os.Rename(dir, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, old := range olds {
		wantTaken(t, old)
	}
	first.Release()
	for _, old := range olds {
		wantFree(t, old)
	}
	second.Release()
}

// TestHoldRuntime: two daemons with different state directories cannot use the same runtime directory. One daemon
// may use one directory as both.
func TestHoldRuntime(t *testing.T) {
	shared := t.TempDir()
	first, err := Take(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.HoldRuntime(shared); err != nil {
		t.Error("the first daemon:", err)
	}
	own := t.TempDir()
	second, err := Take(own)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.HoldRuntime(shared); err == nil || err.Error() != "another lnetd uses the runtime directory "+shared || !strings.Contains(cli.HintOf(err), "--runtime-dir") {
		t.Errorf("the second daemon: %v, hint %q", err, cli.HintOf(err))
	}
	if err := second.HoldRuntime(own); err != nil {
		t.Error("one directory for both:", err)
	}
	first.Release()
	if err := second.HoldRuntime(shared); err != nil {
		t.Error("after the end of the first daemon:", err)
	}
	second.Release()
}

// TestRuntimeLockedByOthers: each user that may read the runtime directory can lock the directory itself. That
// does not prevent a daemon from starting, because the daemon locks a file that other users cannot open.
func TestRuntimeLockedByOthers(t *testing.T) {
	dir := t.TempDir()
	other, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	l, err := Take(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if err := l.HoldRuntime(dir); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, runtimeLock)); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestRuntimeWithoutLocks: if the file system of a runtime directory has no locks, the daemon starts, and logs
// that the directory is not locked.
func TestRuntimeWithoutLocks(t *testing.T) {
	l, err := take(t.TempDir(), func(int, int) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	var log strings.Builder
	l.LogTo(slog.New(slog.NewTextHandler(&log, nil)))
	l.flock = func(int, int) error { return syscall.ENOLCK }
	dir := t.TempDir()
	if err := l.HoldRuntime(dir); err != nil || !strings.Contains(log.String(), "the runtime directory is not locked") || !strings.Contains(log.String(), dir) {
		t.Errorf("error %v, log %q", err, &log)
	}
	log.Reset()
	if err := os.Mkdir(filepath.Join(dir, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "x", runtimeLock), 0o700); err != nil { // the file cannot be made
		t.Fatal(err)
	}
	if err := l.HoldRuntime(filepath.Join(dir, "x")); err != nil || !strings.Contains(log.String(), "the runtime directory is not locked") {
		t.Errorf("without a file: error %v, log %q", err, &log)
	}
}

// TestHoldLater: a state directory appears after the start. If its file system has no locks, several calls of Hold
// log that once. A Hold that comes after Release does not keep the directory locked.
func TestHoldLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	var log strings.Builder
	bare, err := take(dir, func(int, int) error { return syscall.ENOLCK })
	if err != nil {
		t.Fatal(err)
	}
	bare.LogTo(slog.New(slog.NewTextHandler(&log, nil)))
	late, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	late.Release()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := errors.Join(bare.Hold(), late.Hold()); err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(log.String(), "is not locked"); n != 1 {
		t.Errorf("%d warnings: %s", n, &log)
	}
	wantFree(t, dir)
}

// TestReleaseStuck: Release does not wait for a Hold whose disk does not answer. When that Hold ends, the directory is
// not locked.
func TestReleaseStuck(t *testing.T) {
	dir := t.TempDir()
	reached, answer := make(chan bool), make(chan bool)
	l := &Lock{dir: dir, flock: func(fd, how int) error {
		reached <- true
		<-answer
		return syscall.Flock(fd, how)
	}}
	held := make(chan error)
	go func() { held <- l.Hold() }()
	<-reached
	l.Release()
	close(answer)
	if err := <-held; err != nil {
		t.Error(err)
	}
	wantFree(t, dir)
}

// TestNil: a program without a state directory has no lock.
func TestNil(t *testing.T) {
	var l *Lock
	l.LogTo(slog.New(slog.DiscardHandler))
	if err := errors.Join(l.Hold(), l.HoldRuntime(t.TempDir())); err != nil {
		t.Error(err)
	}
	l.Release()
}
