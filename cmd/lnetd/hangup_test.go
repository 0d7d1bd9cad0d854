//go:build linux

package main

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
)

// TestHangupAfterStop: a SIGHUP that arrives after the daemon has stopped and before its process has
// ended does not change the exit code. The test runs in a process of its own, which the signal would end.
func TestHangupAfterStop(t *testing.T) {
	spec.Covers(t, "OP-6")
	if os.Getenv("ULNET_TEST_HANGUP") == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestHangupAfterStop$")
		child.Env = append(os.Environ(), "ULNET_TEST_HANGUP=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	calls := make(chan struct{})
	h := catchHangups()
	h.serve(func() { calls <- struct{}{} })
	for range 2 {
		hangup(t)
		<-calls
	}
	h.stop()
	hangup(t)
}

// TestHangupBeforeStart: a SIGHUP that arrives while the daemon still waits for its configuration does not end it. The
// test runs in a process of its own, which the signal would end.
func TestHangupBeforeStart(t *testing.T) {
	spec.Covers(t, "OP-6")
	if os.Getenv("ULNET_TEST_HANGUP") == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestHangupBeforeStart$")
		child.Env = append(os.Environ(), "ULNET_TEST_HANGUP=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	pipe, addr := filepath.Join(dir, "pipe"), netip.MustParseAddr("127.0.0.98")
	port, err := loopback.FreePort(addr)
	if err = errors.Join(err, syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	says, stdout := io.Pipe()
	code := make(chan int, 1)
	go func() {
		defer stdout.Close()
		code <- run(ctx, cli.Env{Stdout: stdout, Stderr: os.Stderr, Getenv: func(string) string { return "" }}, []string{
			"--config", pipe, "--networks", "tcp(" + addr.String() + ")", "--accept-port", strconv.Itoa(int(port)),
			"--socket", filepath.Join(dir, "socket"), "--state-dir", filepath.Join(dir, "state"), "--runtime-dir", dir,
		})
	}()
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when the daemon has opened it
	if err != nil {
		t.Fatal(err)
	}
	hangup(t)
	if _, err := writer.WriteString("# nothing\n"); err != nil {
		t.Error(err)
	}
	if err := writer.Close(); err != nil {
		t.Error(err)
	}
	line := make([]byte, 11)
	if _, err := io.ReadFull(says, line); err != nil || string(line) != "lnetd ready" {
		t.Errorf("it says %q, %v", line, err)
	}
	end()
	if _, err := io.Copy(io.Discard, says); err != nil {
		t.Error(err)
	}
	if got := <-code; got != cli.OK {
		t.Errorf("exit code %d", got)
	}
}

// hangup sends SIGHUP to the thread that calls it, which handles the signal before hangup returns.
func hangup(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, thread := uintptr(os.Getpid()), uintptr(syscall.Gettid())
	if _, _, errno := syscall.RawSyscall(syscall.SYS_TGKILL, pid, thread, uintptr(syscall.SIGHUP)); errno != 0 {
		t.Fatal(errno)
	}
}
