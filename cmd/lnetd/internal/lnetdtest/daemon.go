//go:build linux

package lnetdtest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/procstate"
)

const (
	// startTimeout and stopTimeout bound the start and the end of a daemon.
	startTimeout = 90 * time.Second
	stopTimeout  = 90 * time.Second
	// ctlTimeout bounds a run of lnetctl, gossipctl or scollctl.
	ctlTimeout = 90 * time.Second
	// firstPoll and lastPoll bound the interval at which conditions are polled. The interval grows
	// by half each time, because each poll takes CPU time from all daemons of the test.
	firstPoll, lastPoll = 5 * time.Millisecond, 40 * time.Millisecond
)

// raceOptions is an environment variable that keeps programs with the race detector from
// sleeping for a second before they exit.
const raceOptions = "GORACE=atexit_sleep_ms=0"

// usualGC is an environment variable for daemons, so that they use as much memory as outside of
// tests. The tests themselves may run with another value.
const usualGC = "GOGC=100"

// Config configures a daemon.
type Config struct {
	Networks string // the networks, as in the configuration
	Port     uint16 // accept port of the daemon
	// Settings are lines of the daemon's configuration file ("accept_timeout: 1").
	Settings []string
	// StateDir is the state directory, which is not removed; "": a temporary directory.
	StateDir string
	// Within calls f on a thread that is in the network namespace of the daemon. Nil: the daemon runs in the
	// namespace of the test.
	Within func(f func() error) error
	// Crowd is set if a test starts more daemons than a small machine has cores. Each daemon then runs
	// its goroutines on one thread (GOMAXPROCS=1), which takes a fifth less CPU time than several
	// threads that wake each other. In long runs of the tests, Crowd has no effect.
	Crowd bool
	// Early makes Start return as soon as the process runs.
	Early bool
	// Output is the standard output and standard error of the daemon; nil: Log returns its standard error.
	Output *os.File
	// Manager is the service manager that the daemon reports to; nil: none.
	Manager *Manager
	// Handed are files that the manager hands over although they are of no use to the daemon.
	Handed []*os.File
}

// Daemon is a running lnetd.
type Daemon struct {
	t        testing.TB
	commands Commands
	socket   string
	control  *control.Client
	cmd      *exec.Cmd
	log      log
	ended    chan struct{} // closed when the process has ended
	err      error         // how the process ended; set before ended is closed
	tell     sync.Once     // makes the method terminate act only once
	stop     sync.Once
}

// Start starts a daemon and waits until it answers, unless cfg.Early is set. When the test
// ends the daemon is told to end, and must do so with exit code 0.
func (c Commands) Start(t testing.TB, cfg Config) *Daemon {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "lnetd.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(cfg.Settings, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	state := cmp.Or(cfg.StateDir, filepath.Join(dir, "state"))
	socket := filepath.Join(dir, "lnetd.sock")
	d := &Daemon{t: t, commands: c, socket: socket, control: control.NewClient(socket), ended: make(chan struct{})}
	d.cmd = exec.Command(filepath.Join(c.dir, "lnetd"),
		"--config", file, "--networks", cfg.Networks, "--accept-port", strconv.Itoa(int(cfg.Port)),
		"--socket", d.socket, "--state-dir", state, "--runtime-dir", dir)
	d.cmd.Env = append(os.Environ(), raceOptions, usualGC)
	if cfg.Crowd && !effort.Long() {
		d.cmd.Env = append(d.cmd.Env, "GOMAXPROCS=1")
	}
	release := func() {}
	if cfg.Manager != nil {
		release = cfg.Manager.equip(d.cmd, cfg.Handed)
	}
	d.cmd.Stderr = &d.log
	if cfg.Output != nil {
		d.cmd.Stdout, d.cmd.Stderr = cfg.Output, cfg.Output
	}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	d.launch(cfg.Within)
	release()
	crew.add(d)
	t.Cleanup(d.cleanup)
	if !cfg.Early {
		d.awaitReady()
	}
	return d
}

// launch starts the process from a thread that stays until the process has ended, because
// Pdeathsig kills the process when that thread ends.
func (d *Daemon) launch(within func(func() error) error) {
	d.t.Helper()
	if within == nil {
		within = func(f func() error) error {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			return f()
		}
	}
	started := make(chan struct{})
	go func() {
		defer close(d.ended)
		d.err = within(func() error {
			if err := d.cmd.Start(); err != nil {
				return err
			}
			close(started)
			return d.cmd.Wait()
		})
	}()
	select {
	case <-started:
	case <-d.ended:
		d.t.Fatalf("start lnetd: %v", d.err)
	}
}

// awaitReady waits until the daemon answers on its control socket, which it does once its NIs
// are up.
func (d *Daemon) awaitReady() {
	d.t.Helper()
	d.Until(startTimeout, "answer on the control socket", func() bool {
		_, err := node.OpStatus.Call(d.t.Context(), d.control, control.None{})
		return err == nil
	})
}

// Until polls a condition until it holds. It fails the test after the timeout, or if the daemon
// ends.
func (d *Daemon) Until(timeout time.Duration, what string, holds func() bool) {
	d.t.Helper()
	deadline := time.After(timeout)
	for interval := firstPoll; !holds(); interval = min(interval*3/2, lastPoll) {
		select {
		case <-time.After(interval):
		case <-d.ended:
			d.t.Fatalf("lnetd ended while the test waited for %s: %v\n%s", what, d.err, &d.log)
		case <-deadline:
			d.t.Fatalf("no %s within %v\n%s", what, timeout, &d.log)
		}
	}
}

// PID returns the number of the process.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// Control returns a client of the daemon's control socket.
func (d *Daemon) Control() *control.Client { return d.control }

// RuntimeDir is the daemon's directory for its socket and the state of modules.
func (d *Daemon) RuntimeDir() string { return filepath.Dir(d.socket) }

// Log returns the daemon's log so far.
func (d *Daemon) Log() string { return d.log.String() }

// Lnetctl runs lnetctl against the daemon and returns its standard output. The error contains
// the standard error of lnetctl.
func (d *Daemon) Lnetctl(ctx context.Context, args ...string) (string, error) {
	return d.run(ctx, "lnetctl", args)
}

// Gossipctl runs gossipctl as Lnetctl runs lnetctl.
func (d *Daemon) Gossipctl(ctx context.Context, args ...string) (string, error) {
	return d.run(ctx, "gossipctl", args)
}

// Scollctl runs scollctl as Lnetctl runs lnetctl.
func (d *Daemon) Scollctl(ctx context.Context, args ...string) (string, error) {
	return d.run(ctx, "scollctl", args)
}

// run runs one of the commands against the daemon.
func (d *Daemon) run(ctx context.Context, command string, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, ctlTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(d.commands.dir, command), append([]string{"--socket", d.socket}, args...)...)
	cmd.Env = append(os.Environ(), raceOptions)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w: %s", command, strings.Join(args, " "), err, &stderr)
	}
	return stdout.String(), nil
}

// Stop ends the daemon by SIGTERM and returns how it ended. Further calls return the same.
func (d *Daemon) Stop() error {
	d.stop.Do(func() {
		d.tell.Do(d.terminate)
		kill := time.AfterFunc(stopTimeout, func() { _ = d.cmd.Process.Kill() })
		<-d.ended
		kill.Stop()
	})
	return d.err
}

// terminate sends SIGTERM once: a second signal would end the process without cleanup.
func (d *Daemon) terminate() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // an error means that the process has ended, which is reported elsewhere
	_ = d.cmd.Process.Signal(syscall.SIGCONT) // lets a frozen daemon continue, so that it handles the signal
}

// Kill ends the daemon as a crash would (SIGKILL), and waits until it has ended.
func (d *Daemon) Kill() {
	d.stop.Do(func() {
		_ = d.cmd.Process.Kill() // fails only if the process has ended
		<-d.ended
		d.err = nil // being killed is not a failure
	})
}

// Freeze stops the process (SIGSTOP): its connections stay open, but it does not read them until
// Thaw. Freeze returns when all threads have stopped; they run until one of them has handled the
// signal.
func (d *Daemon) Freeze() {
	d.t.Helper()
	d.signal(syscall.SIGSTOP)
	d.Until(60*time.Second, "stop of all its threads", func() bool { return procstate.Stopped(d.cmd.Process.Pid) })
}

// Hangup sends SIGHUP.
func (d *Daemon) Hangup() { d.signal(syscall.SIGHUP) }

// HangupUntilEnd sends SIGHUP again and again until the process has ended.
func (d *Daemon) HangupUntilEnd() {
	for d.cmd.Process.Signal(syscall.SIGHUP) == nil {
		select {
		case <-time.After(time.Millisecond):
		case <-d.ended:
		}
	}
}

// Thaw lets a frozen daemon continue.
func (d *Daemon) Thaw() { d.signal(syscall.SIGCONT) }

func (d *Daemon) signal(sig syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(sig); err != nil {
		d.t.Fatalf("%v to lnetd: %v", sig, err)
	}
}

func (d *Daemon) cleanup() {
	crew.dismiss(d.t)
	if err := d.Stop(); err != nil {
		d.t.Errorf("lnetd did not end cleanly: %v", err)
	}
	if d.t.Failed() {
		d.t.Logf("log of lnetd:\n%s", &d.log)
	}
}

// log collects the output of a process.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer // the output so far; guarded by mu
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
