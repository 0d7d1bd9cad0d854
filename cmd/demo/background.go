package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
)

// background is an lnetctl that runs beside other commands.
type background struct {
	cmd  *exec.Cmd
	said bytes.Buffer    // standard output so far; to be read after wait has returned
	talk strings.Builder // standard error; owned by drain until drained is closed

	drained chan struct{}
	waited  bool
}

// background starts lnetctl on a node, and returns when it reports on standard error that it
// is ready.
func (l *lab) background(ctx context.Context, n *node, args ...string) (*background, error) {
	b := &background{cmd: l.command(ctx, "lnetctl", append([]string{"--socket", n.socket}, args...)...)}
	b.cmd.Stdout = &b.said
	pipe, err := b.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	b.drained = make(chan struct{})
	go b.drain(pipe, ready)
	select {
	case <-ready:
		return b, nil
	case <-b.drained:
		return nil, fmt.Errorf("%v ended early: %w", b.cmd.Args, b.wait())
	}
}

// drain reads standard error; the first line means that the command is ready.
func (b *background) drain(pipe io.Reader, ready chan struct{}) {
	defer close(b.drained)
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		if b.talk.Len() == 0 {
			close(ready)
		}
		b.talk.WriteString(lines.Text() + "\n")
	}
}

// wait waits until the command ends by itself.
func (b *background) wait() error {
	<-b.drained
	b.waited = true
	if err := b.cmd.Wait(); err != nil {
		return fmt.Errorf("%v: %w\n%s", b.cmd.Args, err, &b.talk)
	}
	return nil
}

// stop ends the command, if it is still running.
func (b *background) stop() {
	if b.waited {
		return
	}
	_ = b.cmd.Process.Signal(syscall.SIGTERM) // fails if the process has ended
	_ = b.wait()                              // returns an error, because SIGTERM has ended the process
}
