package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// groupSize is the number of daemons that get the broadcasts.
	groupSize = 8
	// inner is the index of the daemon that is killed; three others are below it in the tree.
	inner = 4
)

// collectives sends eight daemons a file over a tree, and then an action during which an inner
// node of the tree is killed, and prints what scollctl reports.
func collectives(ctx context.Context, w io.Writer, l *lab) error {
	tree, err := output(l.command(ctx, "scollctl", "tree", "show", "--nodes", fmt.Sprint(groupSize), "--k", "2"))
	if err != nil {
		return err
	}
	_, tree, _ = strings.Cut(tree, "\n\n") // without the headline, whose times are computed for a network with other latencies
	fmt.Fprintf(w, "\nEight nodes, from %v as 0 to %v as 7, get 1 MiB over this tree (scollctl bcast --bulk):\n\n%s\n", l.hosts[0], l.hosts[groupSize-1], indent(tree))
	if err := l.sendFile(ctx, w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nAn order follows (scollctl bcast --action). All carry it out; %v is killed before it can answer,\n"+
		"and with it goes the way of the answers of those below it. The root knows exactly whose are missing:\n\n", l.hosts[inner])
	return l.killBetween(ctx, w)
}

// groupConfig returns the configuration of the daemons. It has an action that opens a named pipe, reports by a
// file that it has begun, and ends when the demonstration closes the pipe.
func groupConfig(l *lab, _ int) string {
	return fmt.Sprintf(`scoll:
  enable: 1
  groups:
    all:
      nids: ['%s']
  admin:
    allow_roots: [%s]
    actions_without_identity: yes # ports above 1023, of one user
    actions:
      order:
        run: [/bin/sh, -c, 'exec < "%s"; : > "%s/begun.$$"; exec cat']
`, l.first(groupSize), l.nid(0), l.gate(), l.dir)
}

// gate returns the path of the named pipe whose end the actions wait for.
func (l *lab) gate() string { return filepath.Join(l.dir, "gate") }

// sendFile sends bulk data to all daemons.
func (l *lab) sendFile(ctx context.Context, w io.Writer) error {
	file := filepath.Join(l.dir, "data")
	if err := os.WriteFile(file, bytes.Repeat([]byte("0123456789abcdef"), size/16), 0o600); err != nil {
		return err
	}
	said, err := output(l.scollctl(ctx, "bcast", "--bulk", file))
	if err == nil {
		_, err = io.WriteString(w, indent(said))
	}
	return err
}

func (l *lab) scollctl(ctx context.Context, args ...string) *exec.Cmd {
	return l.command(ctx, "scollctl", append([]string{"--socket", l.nodes[0].socket}, args...)...)
}

// killBetween starts an action on all nodes, kills one node while the action waits, and lets the
// others answer.
func (l *lab) killBetween(ctx context.Context, w io.Writer) error {
	if err := syscall.Mkfifo(l.gate(), 0o600); err != nil {
		return err
	}
	open, err := os.OpenFile(l.gate(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer open.Close()
	cmd := l.scollctl(ctx, "bcast", "--action", "order", "--timeout", "4s")
	var said, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &talk
	if err := cmd.Start(); err != nil {
		return err
	}
	err = l.begun(ctx)
	if err == nil {
		err = l.kill(l.nodes[inner])
	}
	_ = open.Close() // the actions read to the end of the pipe, so this ends them; after an error the pipe is closed all the same
	werr := cmd.Wait()
	if err == nil && (cmd.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), "not reached:")) {
		err = fmt.Errorf("%v: want an incomplete answer: %w\n%s%s", cmd.Args, werr, &said, &talk)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s", indent(said.String()), indent(talk.String()))
	return err
}

// begun waits until the action has begun on all nodes.
func (l *lab) begun(ctx context.Context) error {
	return until(ctx, 5*time.Millisecond, func() (missing string, err error) {
		files, err := filepath.Glob(filepath.Join(l.dir, "begun.*"))
		if len(files) < groupSize {
			missing = fmt.Sprintf("%d of %d daemons began", len(files), groupSize)
		}
		return missing, err
	})
}
