// Package program runs programs that the administrator has configured: the actions of package admin
// and the event handlers of package handlers.
//
// A program runs in a process group of its own, in the folder /. It inherits only PATH from this
// process's environment. If it runs as another user, it does not even inherit PATH, and has only
// the groups of that user. Its run time and the kept output are bounded. No process of its group
// outlives it, and it does not outlive this process.
package program

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// waitForOutput bounds the wait for output of processes that have left the program's group and
// are still running.
const waitForOutput = 200 * time.Millisecond

// Run is one run of a program.
type Run struct {
	Args  []string   // path of the program, and its arguments
	User  *User      // user as which the program runs; nil: the user of this process
	Env   []string   // NAME=VALUE, in addition to PATH or to the user's variables
	Input []byte     // standard input of the program
	Files []*os.File // file descriptors from 3 on; the caller still owns them

	Timeout time.Duration // longest run time; then the program is ended
	// Grace is the time between SIGTERM, which is sent after the timeout or the end of the
	// context, and SIGKILL. 0: SIGKILL at once.
	Grace  time.Duration
	Output int // how many bytes at the end of standard output and error are kept
}

// Result is the result of a run.
type Result struct {
	Exit     int32  // exit code, or the negative number of the signal that ended the program
	TimeOver bool   // the run was ended because its timeout had passed
	Output   []byte // the last bytes of standard output and error together
	Cut      bool   // there was more output than Output has
}

// Do runs the program and returns when it has ended. It ends all processes of the program's
// group when the program has ended, when the timeout has passed, or when ctx ends. An error
// means that the program did not start.
func (r *Run) Do(ctx context.Context) (Result, error) {
	cmd := exec.Command(r.Args[0], r.Args[1:]...)
	out := &tail{limit: r.Output}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(r.Input), out, out
	cmd.Dir, cmd.Env, cmd.ExtraFiles = "/", r.environment(), r.Files
	// The kernel kills the program when the thread that started it ends (Pdeathsig). The goroutine
	// keeps that thread, so the kernel kills the program when the daemon ends, also if the daemon
	// is killed, and not earlier.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if r.User != nil {
		cmd.SysProcAttr.Credential = r.User.credential()
	}
	cmd.WaitDelay = waitForOutput
	if err := cmd.Start(); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	g := group{cmd: cmd, grace: r.Grace}
	err := g.await(ctx)
	result := Result{Exit: exitOf(cmd.ProcessState), TimeOver: errors.Is(err, context.DeadlineExceeded)}
	result.Output, result.Cut = out.bytes()
	return result, nil
}

func (r *Run) environment() []string {
	var env []string
	if r.User != nil {
		env = r.User.environment()
	} else if path := os.Getenv("PATH"); path != "" {
		env = []string{"PATH=" + path}
	}
	return append(env, r.Env...)
}

// exitOf returns the exit code, or the negative number of the signal that ended the process.
func exitOf(s *os.ProcessState) int32 {
	if s == nil {
		return -1
	}
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -int32(status.Signal())
	}
	return int32(s.ExitCode())
}
