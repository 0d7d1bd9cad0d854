package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/scoll"
)

const (
	// lookInterval is the time between two requests to the daemon.
	lookInterval = 200 * time.Millisecond
	// shownOver is the number of ended broadcasts that are shown on a terminal.
	shownOver = 10
)

func watchCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Watch broadcasts and groups",
		Long: `Shows the broadcasts that this node sends, and its groups: drawn again and again on a
terminal, otherwise a line when one begins or ends, and with --json an object. It
ends with an interrupt.`,
		Example: "  scollctl watch | tee broadcasts",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			w := watcher{g: g, out: c.OutOrStdout(), seen: map[uint64]bool{}}
			return w.run(c.Context(), cli.Style(w.out, g.json, w.lines, w.objects, w.screen))
		},
	}
}

// watcher asks the daemon repeatedly, and shows what has changed.
type watcher struct {
	g       *globals
	out     io.Writer
	started bool
	seen    map[uint64]bool // by broadcast id: whether the broadcast had ended when it was last shown
}

func (w *watcher) run(ctx context.Context, show func(*scoll.Status) error) error {
	return cli.Repeat(ctx, lookInterval, func() error {
		s, err := scoll.OpStatus.Call(ctx, w.g.client(), control.None{})
		if err == nil {
			err = show(&s)
		}
		w.started = true
		return err
	})
}

// changed returns the broadcasts that have begun or ended since the last poll.
func (w *watcher) changed(s *scoll.Status) (list []scoll.BroadcastEntry) {
	for _, e := range s.Broadcasts {
		if over, known := w.seen[e.ID]; !known || over == e.Running {
			list = append(list, e)
		}
		w.seen[e.ID] = !e.Running
	}
	return list
}

// lines prints a line for each change. At the beginning, it prints a line about the node.
func (w *watcher) lines(s *scoll.Status) error {
	var b bytes.Buffer
	changed := w.changed(s)
	if !w.started {
		fmt.Fprintln(&b, head(s))
	}
	for _, e := range changed {
		fmt.Fprintln(&b, entryLine(e))
	}
	_, err := w.out.Write(b.Bytes())
	return err
}

// objects prints a JSON object for each change.
func (w *watcher) objects(s *scoll.Status) error {
	return cli.JSONLines(w.out, w.changed(s))
}

// screen draws the screen again.
func (w *watcher) screen(s *scoll.Status) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n", head(s))
	if err := printGroups(&b, s); err != nil {
		return err
	}
	fmt.Fprintln(&b)
	for _, e := range s.Broadcasts[max(len(s.Broadcasts)-shownOver, 0):] {
		fmt.Fprintln(&b, entryLine(e))
	}
	return cli.Redraw(w.out, b.Bytes(), !w.started)
}

func head(s *scoll.Status) string {
	running := 0
	for _, e := range s.Broadcasts {
		if e.Running {
			running++
		}
	}
	return fmt.Sprintf("%v: %d groups, %d broadcasts run, %d requests of others so far", s.NID, len(s.Groups), running, s.Stats["requests"])
}

func entryLine(e scoll.BroadcastEntry) string {
	what := e.Verb
	if e.Action != "" {
		what += " " + e.Action
	}
	line := fmt.Sprintf("%s  %4d  %-16s to %d members of %s", e.Began.Local().Format("15:04:05.000"), e.ID, what, e.Members, e.Group)
	switch {
	case e.Running:
		return line + ": runs"
	case e.Error != "":
		return line + ": " + e.Error
	}
	return fmt.Sprintf("%s: %s after %v, %d reached, %d not", line, e.Status, ofMicros(e.ElapsedUS), e.Reached, e.Unreached)
}
