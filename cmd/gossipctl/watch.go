package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
)

const (
	// lookInterval is the time between two requests to the daemon. Gossip cycles are not shorter
	// than that.
	lookInterval = 200 * time.Millisecond
	// shownChanges is how many changes a terminal shows below the table.
	shownChanges = 10
)

func watchCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Watch who dies and comes alive",
		Long: `Shows the participants live: a table that is drawn again and again on a terminal,
otherwise a line for each change, and with --json an object for each. It ends
with an interrupt.`,
		Example: "  gossipctl watch | tee changes",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			w := watcher{g: g, out: c.OutOrStdout()}
			return w.run(c.Context(), cli.Style(w.out, g.json, w.line, w.object, w.screen))
		},
	}
}

// watcher asks the daemon repeatedly, and shows what has changed.
type watcher struct {
	g       *globals
	out     io.Writer
	started bool
	last    gossip.Change // the last change that was shown; its zero value is none
	recent  []gossip.Change
}

func (w *watcher) run(ctx context.Context, show func(statusDoc, []gossip.Change) error) error {
	return cli.Repeat(ctx, lookInterval, func() error { return w.look(ctx, show) })
}

// look asks for the state and shows it, with the changes since the last call.
func (w *watcher) look(ctx context.Context, show func(statusDoc, []gossip.Change) error) error {
	doc, err := w.g.status(ctx)
	if err != nil {
		return err
	}
	changes, err := gossip.OpHistory.Call(ctx, w.g.client(), control.None{})
	if err != nil {
		return err
	}
	if err := show(doc, w.fresh(changes)); err != nil {
		return err
	}
	w.started = true
	return nil
}

// fresh returns the changes after the last one that an earlier call has returned. It looks for that change itself, since
// comparing times would be wrong after the system's clock was set: the changes of the running agent then have other
// times. Times matter only if that change is no longer in the history.
func (w *watcher) fresh(changes []gossip.Change) []gossip.Change {
	if len(changes) == 0 {
		return nil
	}
	last := w.last
	w.last = changes[len(changes)-1]
	for _, seen := range []func(*gossip.Change) bool{
		func(c *gossip.Change) bool { return c.Time.Equal(last.Time) && sameEvent(c, &last) },
		func(c *gossip.Change) bool { return sameEvent(c, &last) },
		func(c *gossip.Change) bool { return !c.Time.After(last.Time) },
	} {
		for i := range slices.Backward(changes) {
			if seen(&changes[i]) {
				return changes[i+1:]
			}
		}
	}
	return changes
}

// sameEvent reports whether two changes are the same one, apart from their times.
func sameEvent(a, b *gossip.Change) bool {
	return a.Clock == b.Clock && a.Event == b.Event && a.NID == b.NID && a.Aliveness == b.Aliveness
}

// line prints a line for each change. At the beginning, it prints a line for the present state.
func (w *watcher) line(doc statusDoc, changes []gossip.Change) error {
	var b bytes.Buffer
	if !w.started {
		fmt.Fprintln(&b, doc.summary())
	} else {
		for _, c := range changes {
			fmt.Fprintln(&b, changeLine(c))
		}
	}
	_, err := w.out.Write(b.Bytes())
	return err
}

// object prints a JSON object for each change, and at the beginning for earlier changes as well.
func (w *watcher) object(_ statusDoc, changes []gossip.Change) error {
	return cli.JSONLines(w.out, changes)
}

// screen draws the screen again.
func (w *watcher) screen(doc statusDoc, changes []gossip.Change) error {
	w.recent = append(w.recent, changes...)
	w.recent = w.recent[max(len(w.recent)-shownChanges, 0):]
	var b bytes.Buffer
	doc.warn(&b)
	if err := printStatus(&b, doc); err != nil {
		return err
	}
	fmt.Fprintln(&b)
	for _, c := range w.recent {
		fmt.Fprintln(&b, changeLine(c))
	}
	return cli.Redraw(w.out, b.Bytes(), !w.started)
}
