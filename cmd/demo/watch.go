package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// watch is a running command that prints changes as a node sees them.
type watch struct {
	nid   string
	cmd   *exec.Cmd
	lines *bufio.Scanner
	out   io.Writer
	talk  strings.Builder // the command's standard error; read it after stop
}

func (l *lab) watch(ctx context.Context, out io.Writer, n *node, name string, args ...string) (*watch, error) {
	w := &watch{nid: n.nid, cmd: l.command(ctx, name, slices.Concat([]string{"--socket", n.socket}, args)...), out: out}
	w.cmd.Stderr = &w.talk
	pipe, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.lines = bufio.NewScanner(pipe)
	return w, w.cmd.Start()
}

// await copies lines to the output up to the first one that contains a text.
func (w *watch) await(text string) error {
	_, err := w.read(true, text)
	return err
}

// find skips lines up to the first one that contains all texts, and copies and returns that
// line.
func (w *watch) find(texts ...string) (string, error) { return w.read(false, texts...) }

func (w *watch) read(others bool, texts ...string) (string, error) {
	for w.lines.Scan() {
		line := w.lines.Text()
		found := !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) })
		if found || others {
			fmt.Fprintf(w.out, "    %s\n", line)
		}
		if found {
			return line, nil
		}
	}
	w.stop()
	return "", fmt.Errorf("%v ended before it said %q\n%s", w.cmd.Args, texts, &w.talk)
}

// stop ends the command, if it is still running.
func (w *watch) stop() {
	_ = w.cmd.Process.Signal(syscall.SIGTERM) // fails if the command has ended
	_ = w.cmd.Wait()                          // returns an error, because SIGTERM has ended the command
}
