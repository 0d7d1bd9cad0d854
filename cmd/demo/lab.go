package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"ulnet/lnd/lndtest/loopback"
)

// stopTimeout is the time after which a daemon that does not end is killed. Daemons wait a
// shorter time for messages to nodes that are gone.
const stopTimeout = 30 * time.Second

// lab is a set of running daemons.
type lab struct {
	ground
	bin, dir, capture string
	config            func(i int) string // returns the configuration file of daemon i; nil: none has one
	size              int                // number of daemons
	port              uint16
	nodes             []*node
}

// node is one daemon.
type node struct {
	nid, socket string
	args        []string
	cmd         *exec.Cmd
	log         bytes.Buffer  // the daemon's standard error; read it after ended is closed
	ended       chan struct{} // closed when the daemon has ended
	err         error         // error of the process, set before ended is closed
}

// start starts the daemons and waits until all of them answer.
func (l *lab) start(ctx context.Context) error {
	if l.size == 0 {
		return nil
	}
	addrs := l.hosts[:l.size]
	port, err := loopback.FreePort(addrs...)
	if err != nil {
		return err
	}
	l.port = port
	for i, addr := range addrs {
		n := &node{nid: l.nid(i), socket: filepath.Join(l.dir, fmt.Sprintf("%d.sock", i+1))}
		args := []string{
			"--networks", l.networks(i),
			"--accept-port", strconv.Itoa(int(port)),
			"--socket", n.socket,
			"--state-dir", filepath.Join(l.dir, addr.String(), "state"),
			"--runtime-dir", filepath.Join(l.dir, addr.String(), "run"),
		}
		if l.config != nil {
			args = append(args, "--config", l.config(i))
		}
		if i == 0 && l.capture != "" {
			args = append(args, "--capture", l.capture)
		}
		if err := l.startNode(ctx, n, args); err != nil {
			return err
		}
	}
	for _, n := range l.nodes {
		if err := l.await(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) startNode(ctx context.Context, n *node, args []string) error {
	n.args, n.cmd = args, l.command(ctx, "lnetd", args...)
	n.cmd.Stderr = &n.log
	if err := n.cmd.Start(); err != nil {
		return fmt.Errorf("start lnetd (make build makes it): %w", err)
	}
	n.ended = make(chan struct{})
	go func() {
		defer close(n.ended)
		n.err = n.cmd.Wait()
	}()
	l.nodes = append(l.nodes, n)
	return nil
}

// await waits until the daemon answers. The daemon listens on its control socket at once, but answers only
// when its networks are up.
func (l *lab) await(ctx context.Context, n *node) error {
	return until(ctx, 5*time.Millisecond, func() (missing string, err error) {
		c, err := new(net.Dialer).DialContext(ctx, "unix", n.socket)
		if err == nil {
			_ = c.Close()
			_, err = l.lnetctl(ctx, n, "net", "show")
			return "", err
		}
		select {
		case <-n.ended:
			return "", fmt.Errorf("lnetd for %s ended: %w\n%s", n.nid, n.err, &n.log)
		default:
			return fmt.Sprintf("lnetd for %s does not answer on %s", n.nid, n.socket), nil
		}
	})
}

// until calls look periodically until its result missing is "". If ctx ends before, the error
// says what is missing.
func until(ctx context.Context, every time.Duration, look func() (missing string, err error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		missing, err := look()
		if err != nil || missing == "" {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", missing, context.Cause(ctx))
		}
	}
}

// stop ends the daemons and waits for them. The daemon that captures ends last. All others are told
// to end at the same time, because each may wait a while for its messages to nodes that are gone:
// in turn, these waits would add up. A second call does nothing.
func (l *lab) stop() error {
	var errs []error
	nodes := l.nodes
	l.nodes = nil
	for _, n := range nodes[min(1, len(nodes)):] {
		terminate(n)
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := nodes[i]
		if i == 0 {
			terminate(n)
		}
		kill := time.AfterFunc(stopTimeout, func() { _ = n.cmd.Process.Kill() })
		<-n.ended
		kill.Stop()
		if n.err != nil {
			errs = append(errs, fmt.Errorf("lnetd for %s: %w\n%s", n.nid, n.err, &n.log))
		}
	}
	return errors.Join(errs...)
}

// terminate asks a daemon to end.
func terminate(n *node) {
	_ = n.cmd.Process.Signal(syscall.SIGTERM) // an error means that the daemon has ended, which wait reports
}

// command prepares one of the project's commands. It gets SIGTERM when ctx ends, and is killed
// when this process dies.
func (l *lab) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(l.bin, name), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// lnetctl runs lnetctl on a node and returns its standard output.
func (l *lab) lnetctl(ctx context.Context, n *node, args ...string) (string, error) {
	cmd := l.command(ctx, "lnetctl", append([]string{"--socket", n.socket}, args...)...)
	return output(cmd)
}

func output(cmd *exec.Cmd) (string, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%v: %w\n%s%s", cmd.Args, err, &out, &errs)
	}
	return out.String(), nil
}
