package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// evictionWatch is a 'lnetctl health watch' of a server.
type evictionWatch struct {
	nid   string
	cmd   *exec.Cmd
	lines *bufio.Scanner
	talk  bytes.Buffer // standard error; read it after stop
}

// watchEvictions begins to watch a server, and waits until that sees everything.
func (l *lab) watchEvictions(ctx context.Context, n *node) (*evictionWatch, error) {
	w := &evictionWatch{nid: n.nid, cmd: l.command(ctx, "lnetctl", "--socket", n.socket, "health", "watch")}
	w.cmd.Stderr = &w.talk
	pipe, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	if w.lines = bufio.NewScanner(pipe); !w.lines.Scan() {
		w.stop()
		return nil, fmt.Errorf("%v says nothing\n%s", w.cmd.Args, &w.talk)
	}
	return w, nil
}

// eventTime is how lnetctl prints the time of an event.
const eventTime = "15:04:05.000"

// evicted reads up to the line that says that a client was evicted, and the time
// of day in it.
func (w *evictionWatch) evicted(name string) (line string, at time.Duration, err error) {
	for w.lines.Scan() {
		line := w.lines.Text()
		if strings.Contains(line, " evicted ") && strings.Contains(line, name) {
			at, err = timeOfDay(line)
			return line, at, err
		}
	}
	w.stop()
	return "", 0, fmt.Errorf("%v ended before %s was evicted\n%s", w.cmd.Args, name, &w.talk)
}

func timeOfDay(line string) (time.Duration, error) {
	t, err := time.Parse(eventTime, line[:min(len(line), len(eventTime))])
	return t.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)), err
}

// stop ends the command, if it still runs.
func (w *evictionWatch) stop() {
	_ = w.cmd.Process.Signal(syscall.SIGTERM) // fails when it has ended, which is as well
	_ = w.cmd.Wait()                          // it was told to end
}
