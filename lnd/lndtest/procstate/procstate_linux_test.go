package procstate_test

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/procstate"
)

// TestStopped: a process counts as stopped some time after SIGSTOP, and no longer when it has
// continued or ended.
func TestStopped(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if procstate.Stopped(pid) || procstate.Stopped(os.Getpid()) {
		t.Error("a process counts as stopped that runs")
	}
	for _, step := range []struct {
		signal syscall.Signal
		want   bool
	}{{syscall.SIGSTOP, true}, {syscall.SIGCONT, false}} {
		if err := cmd.Process.Signal(step.signal); err != nil {
			t.Fatal(err)
		}
		for begin := time.Now(); procstate.Stopped(pid) != step.want; runtime.Gosched() {
			if time.Since(begin) > 60*time.Second {
				t.Fatalf("after %v: stopped %v, want %v", step.signal, !step.want, step.want)
			}
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if procstate.Stopped(pid) {
		t.Error("a process counts as stopped that has ended")
	}
}
