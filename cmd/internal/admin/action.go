package admin

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Action is a program that may be run.
type Action struct {
	Run     []string // program and arguments
	Timeout time.Duration
	User    *User // nil: whom this process runs as
}

// waitForOutput is how long the output of processes is awaited that have left
// the action's group, and outlive it.
const waitForOutput = 200 * time.Millisecond

// job is one run of an action.
type job struct {
	action Action
	limit  time.Duration // at most; 0: as the action says
	text   []byte        // standard input
	root   string
	file   string // with the bulk data; "" for none
	output int    // bytes that are kept
}

// run runs an action, and ends all processes of its group: when its program has
// ended, when its time is over, or with ctx. An error says that it did not start.
func (j *job) run(ctx context.Context) (Ran, error) {
	timeout := j.action.Timeout
	if j.limit > 0 {
		timeout = min(timeout, j.limit)
	}
	cmd := exec.Command(j.action.Run[0], j.action.Run[1:]...)
	out := &tail{limit: j.output}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(j.text), out, out
	cmd.Dir, cmd.Env = "/", j.environment()
	// A daemon that is killed takes the program along. That is bound to the thread
	// that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if j.action.User != nil {
		cmd.SysProcAttr.Credential = j.action.User.credential()
	}
	closeFile, err := j.handOver(cmd)
	if err != nil {
		return Ran{}, err
	}
	defer closeFile()
	cmd.WaitDelay = waitForOutput
	if err := cmd.Start(); err != nil {
		return Ran{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = await(ctx, cmd)
	r := Ran{Exit: exitOf(cmd.ProcessState), TimeOver: errors.Is(err, context.DeadlineExceeded)}
	r.Output, r.Cut = out.bytes()
	return r, nil
}

func (j *job) environment() []string {
	env := []string{"SCOLL_ROOT=" + j.root}
	if j.action.User != nil {
		env = append(env, j.action.User.environment()...)
	} else if path := os.Getenv("PATH"); path != "" {
		env = append(env, "PATH="+path)
	}
	return env
}

// fileOfUser is the file with bulk data for an action of another user, which may not
// enter its folder: the first file beside standard input and output.
const fileOfUser = "/proc/self/fd/3"

// handOver gives an action its file, until close.
func (j *job) handOver(cmd *exec.Cmd) (closeFile func(), err error) {
	u := j.action.User
	switch {
	case j.file == "":
		return func() {}, nil
	case u == nil:
		cmd.Env = append(cmd.Env, "SCOLL_FILE="+j.file)
		return func() {}, nil
	}
	f, err := os.Open(j.file)
	if err != nil {
		return nil, err
	}
	if err := f.Chown(int(u.UID), int(u.GID)); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	cmd.Env, cmd.ExtraFiles = append(cmd.Env, "SCOLL_FILE="+fileOfUser), []*os.File{f}
	return func() { _ = f.Close() }, nil
}

// await waits for a program's end, or kills it when ctx ends, whose cause it
// returns then. Either way it kills the whole group, before the program's number
// can be somebody else's.
func await(ctx context.Context, cmd *exec.Cmd) error {
	pid := cmd.Process.Pid
	var mu sync.Mutex
	var ended bool
	var cause error
	kill := func(because error) {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			ended, cause = true, because
			_ = unix.Kill(-pid, unix.SIGKILL) // nobody may be left
		}
	}
	stop := context.AfterFunc(ctx, func() { kill(ctx.Err()) })
	defer stop()
	for {
		// It stays a zombie: its number, and that of its group, are its own until Wait.
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	kill(nil)
	_ = cmd.Wait() // how it ended is in its state
	mu.Lock()
	defer mu.Unlock()
	return cause
}

// exitOf is the exit code, or minus the signal.
func exitOf(s *os.ProcessState) int32 {
	if s == nil {
		return -1
	}
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -int32(status.Signal())
	}
	return int32(s.ExitCode())
}

// tail keeps the last bytes that are written to it.
type tail struct {
	mu    sync.Mutex
	limit int
	kept  []byte // guarded by mu
	cut   bool   // guarded by mu
}

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if over := len(t.kept) + n - t.limit; over > 0 {
		t.cut = true
		if over >= len(t.kept) {
			t.kept, b = t.kept[:0], b[over-len(t.kept):]
		} else {
			t.kept = append(t.kept[:0], t.kept[over:]...)
		}
	}
	t.kept = append(t.kept, b...)
	return n, nil
}

// bytes returns what was kept, and whether there was more.
func (t *tail) bytes() ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.kept), t.cut
}
