package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/health"
)

const (
	// healthLook is the interval in which the screen is updated.
	healthLook = 200 * time.Millisecond
	// shownEvents is how many events a terminal shows below the servers.
	shownEvents = 15
	// maxEvents bounds the events that wait for the next update.
	maxEvents = 100_000
)

func healthWatch(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Watch clients come, lose their masters, and be evicted",
		Long: `Shows what happens to clients from now on, as this node sees it: on a terminal the
servers and the latest events, drawn again and again, otherwise a line for each
event, and with --json an object. It ends with an interrupt.`,
		Example: `  lnetctl health watch
  lnetctl health watch --json | jq 'select(.event == "evicted")'`,
		Args: cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			w := eventWatcher{g: g, out: c.OutOrStdout()}
			return w.run(c.Context(), cli.Style(w.out, g.json, w.lines, w.objects, w.screen))
		},
	}
}

// eventWatcher collects the daemon's events and shows them at each update.
type eventWatcher struct {
	g       *globals
	out     io.Writer
	started bool
	recent  []healthmod.Event // the latest events, for the screen

	mu     sync.Mutex
	events []healthmod.Event // events since the last update of the screen; guarded by mu
	missed uint64            // number of events that were dropped because events was full; guarded by mu
	ended  error             // why the stream of events has ended; guarded by mu
}

func (w *eventWatcher) run(ctx context.Context, show func(context.Context, []healthmod.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	// A node without a role has no events. The request for the status returns that as an error.
	if _, err := healthmod.OpStatus.Call(ctx, w.g.client(), control.None{}); err != nil {
		cancel()
		return err
	}
	body, err := w.g.client().Events(ctx)
	if err != nil {
		cancel()
		return err
	}
	var reader sync.WaitGroup
	reader.Go(func() { w.read(body) })
	defer func() {
		cancel()
		_ = body.Close() // an error does no harm, as the body has been read
		reader.Wait()
	}()
	return cli.Repeat(ctx, healthLook, func() error {
		events, ended := w.take()
		if err := show(ctx, events); err != nil {
			return err
		}
		w.started = true
		return ended
	})
}

// read collects events until the stream ends.
func (w *eventWatcher) read(body io.Reader) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e healthmod.Event
		if json.Unmarshal(lines.Bytes(), &e) == nil && (e.Msg == healthmod.EventMessage || e.Msg == "" && e.Missed > 0) {
			e.Source = config.HealthSource
			if e.Time.IsZero() {
				e.Time = time.Now() // a line of the daemon that only has the number of dropped events has no time
			}
			w.add(e)
		}
	}
	err := lines.Err()
	if err == nil {
		err = errors.New("the daemon has gone away")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = cli.Hint(err, "is lnetd still running? see its log")
}

func (w *eventWatcher) add(e healthmod.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) == maxEvents {
		w.missed += 1 + e.Missed
		return
	}
	w.events = append(w.events, e)
}

func (w *eventWatcher) take() ([]healthmod.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := w.events
	if w.missed > 0 {
		events = append(events, healthmod.Event{Source: config.HealthSource, Time: time.Now(), Missed: w.missed})
	}
	w.events, w.missed = nil, 0
	return events, w.ended
}

// lines prints the state at the beginning, and then a line for each event.
func (w *eventWatcher) lines(ctx context.Context, events []healthmod.Event) error {
	if !w.started {
		s, err := healthmod.OpStatus.Call(ctx, w.g.client(), control.None{})
		if err != nil {
			return err
		}
		printHealth(w.out, &s)
	}
	var b bytes.Buffer
	for i := range events {
		fmt.Fprintln(&b, eventLine(&events[i]))
	}
	_, err := w.out.Write(b.Bytes())
	return err
}

// objects prints a JSON object for each event.
func (w *eventWatcher) objects(_ context.Context, events []healthmod.Event) error {
	return cli.JSONLines(w.out, events)
}

// screen draws the screen with new events.
func (w *eventWatcher) screen(ctx context.Context, events []healthmod.Event) error {
	s, err := healthmod.OpStatus.Call(ctx, w.g.client(), control.None{})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	printHealth(&b, &s)
	if s.Server != nil && s.Server.State == healthmod.Running {
		servers, err := healthmod.OpServers.Call(ctx, w.g.client(), control.None{})
		if err != nil {
			return err
		}
		if err := printServers(&b, serversDoc{servers}); err != nil {
			return err
		}
	}
	w.recent = append(w.recent, events...)
	w.recent = w.recent[max(len(w.recent)-shownEvents, 0):]
	fmt.Fprintln(&b)
	_, rows := cli.Size(w.out)
	for _, e := range latest(w.recent, rows-bytes.Count(b.Bytes(), []byte("\n"))-1, rows) {
		fmt.Fprintln(&b, eventLine(&e))
	}
	return cli.Redraw(w.out, b.Bytes(), !w.started)
}

// latest returns the last events that fit into the number of rows in room. If the terminal's
// number of rows is unknown (0), it returns all.
func latest(events []healthmod.Event, room, rows int) []healthmod.Event {
	if rows == 0 {
		return events
	}
	return events[max(len(events)-max(room, 0), 0):]
}

// eventLine formats an event.
func eventLine(e *healthmod.Event) string {
	if e.Msg == "" {
		return fmt.Sprintf("%s  %d lines of lnetd were left out", e.Time.Local().Format("15:04:05.000"), e.Missed)
	}
	line := fmt.Sprintf("%s  %s  %-13s", e.Time.Local().Format("15:04:05.000"), e.Role, e.Event)
	switch {
	case e.Server != "":
		line += " " + e.Server
	case e.Client != "":
		line += " " + e.Client
		if e.Name != "" {
			line += fmt.Sprintf(" %q", e.Name)
		}
	}
	if e.Cause != "" {
		line += ": " + e.Cause
	}
	if e.Code != "" && e.Code != "ok" {
		line += ": " + e.Code
	}
	if e.Event == health.Superseded.String() && e.Peer != "" {
		line += ", by " + e.Peer
	}
	if e.Master != "" {
		line += fmt.Sprintf(", master %s, epoch %d", e.Master, e.Epoch)
	}
	if e.Missed > 0 {
		line += fmt.Sprintf(" (%d events before were left out)", e.Missed)
	}
	return line
}
