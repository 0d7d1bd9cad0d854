//go:build linux

package main

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

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
