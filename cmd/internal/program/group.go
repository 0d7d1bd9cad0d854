package program

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// group is the process group of a program that has started.
type group struct {
	cmd   *exec.Cmd
	grace time.Duration // time between SIGTERM and SIGKILL; 0: there is no SIGTERM

	mu    sync.Mutex
	ended bool        // the last signal was sent; guarded by mu, like all below
	cause error       // why the group was told to end; nil: the program ended by itself
	kill  *time.Timer // timer that sends SIGKILL after SIGTERM; nil: no SIGTERM was sent
}

// await waits until the program has ended. If ctx ends first, await ends the group and returns
// the cause. In either case it sends SIGKILL to the rest of the group. It does so before the
// program's process number, which is also the number of the group, can be reused.
func (g *group) await(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { g.end(ctx.Err()) })
	defer stop()
	for {
		// Until Wait is called, the program stays a zombie and keeps its process number.
		err := unix.Waitid(unix.P_PID, g.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	cause := g.killRest()
	_ = g.cmd.Wait() // an error is ignored: the result is in cmd.ProcessState
	return cause
}

// end sends SIGTERM to the group or, if there is no grace period, SIGKILL. The reason is cause.
func (g *group) end(cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended || g.cause != nil {
		return
	}
	g.cause = cause
	if g.grace <= 0 {
		g.signal(unix.SIGKILL)
		return
	}
	g.signal(unix.SIGTERM)
	g.kill = time.AfterFunc(g.grace, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.ended {
			g.signal(unix.SIGKILL)
		}
	})
}

// killRest kills the rest of the group, and returns why the group was told to end. After that,
// no signal is sent.
func (g *group) killRest() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.signal(unix.SIGKILL)
	g.ended = true
	if g.kill != nil {
		g.kill.Stop()
	}
	return g.cause
}

func (g *group) signal(s unix.Signal) {
	_ = unix.Kill(-g.cmd.Process.Pid, s) // fails with ESRCH if no process of the group is left
}
