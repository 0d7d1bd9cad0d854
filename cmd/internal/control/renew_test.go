package control_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

// text collects a log.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *text) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *text) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), what)
}

// until polls a condition until it holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(waitLimit)
	for !holds() {
		select {
		case <-time.After(time.Millisecond):
		case <-deadline:
			t.Fatal("never:", what)
		}
	}
}

// serveRenewed starts a server that looks at its socket all the time.
func serveRenewed(t *testing.T) (d *daemon, answers func() bool, log *text) {
	t.Helper()
	log = new(text)
	d = serve(t, Config{Routes: new(fakeNode).routes(), RenewInterval: time.Millisecond, Log: slog.New(slog.NewTextHandler(log, nil))})
	answers = func() bool {
		_, err := node.OpStatus.Call(t.Context(), NewClient(d.path), None{})
		return err == nil
	}
	until(t, "an answer", answers)
	return d, answers, log
}

// TestRemovedSocket: a socket whose file was removed is made again, with its mode and its lock, as often as that
// happens, and removed at the end.
func TestRemovedSocket(t *testing.T) {
	d, answers, log := serveRenewed(t)
	for _, names := range [][]string{{d.path}, {d.path}, {d.path, d.path + ".lock"}} {
		before := log.count("has made it again")
		for _, name := range names {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		until(t, "an answer at a new socket", func() bool { return log.count("has made it again") > before && answers() })
		if info, err := os.Stat(d.path); err != nil || info.Mode().Perm() != 0o660 {
			t.Errorf("mode %v, error %v, want 0660", info.Mode(), err)
		}
		if s, err := Listen(d.path); !errors.Is(err, ErrRunning) {
			t.Errorf("a second daemon: %v, %v", s, err)
		}
	}
	d.end(t)
	if _, err := os.Lstat(d.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays behind: %v", err)
	}
}

// TestReplacedSocket: a file that is put in the place of the socket stays, and is reported once. When it is
// removed, the socket is made again.
func TestReplacedSocket(t *testing.T) {
	d, answers, log := serveRenewed(t)
	other := d.path + ".other"
	if err := errors.Join(os.WriteFile(other, []byte("precious"), 0o600), os.Rename(other, d.path)); err != nil {
		t.Fatal(err)
	}
	until(t, "a line of the log", func() bool { return log.count("is in its place") > 0 })
	if b, err := os.ReadFile(d.path); err != nil || string(b) != "precious" {
		t.Errorf("the file has %q, %v", b, err)
	}
	if err := os.Remove(d.path); err != nil {
		t.Fatal(err)
	}
	until(t, "an answer", answers)
	if n := log.count("is in its place"); n != 1 {
		t.Errorf("%d lines of the log", n)
	}
}

// TestSocketOfAnother: a daemon that ends leaves the socket of another daemon that has taken its path.
func TestSocketOfAnother(t *testing.T) {
	d, _, log := serveRenewed(t)
	other := listenUnix(t, d.path+".other")
	other.SetUnlinkOnClose(false)
	defer other.Close()
	if err := os.Rename(d.path+".other", d.path); err != nil {
		t.Fatal(err)
	}
	until(t, "a line of the log", func() bool { return log.count("is in its place") > 0 })
	d.end(t)
	c, err := net.Dial("unix", d.path)
	if err != nil {
		t.Fatal("the socket of the other daemon:", err)
	}
	c.Close()
}
