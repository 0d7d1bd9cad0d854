package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ulnet/cmd/internal/cli"
)

const (
	// The first wardServers daemons are servers, the others clients.
	wardServers, wardClients = 3, 3
	// The demonstration asks the servers for their clients at the interval wardLook if the output is a
	// terminal, where it redraws the table after each answer, and otherwise at the interval wardWait.
	wardLook, wardWait = 100 * time.Millisecond, 500 * time.Millisecond
)

// clientHealth runs three servers and three clients, kills a client, and prints how all
// servers evict it.
func clientHealth(ctx context.Context, w io.Writer, l *lab) error {
	fmt.Fprint(w, "\nThree servers share three clients. Each client pings one of them, its master. One is killed; its master\n"+
		"misses it, and all servers evict it at once (lnetctl client list, at each):\n\n")
	b := &board{l: l, w: w, live: cli.IsTerminal(w)}
	b.columns, _ = cli.Size(w)
	for _, n := range l.nodes[:wardServers] {
		watch, err := l.watch(ctx, io.Discard, n, "lnetctl", "health", "watch")
		if err != nil {
			return err
		}
		defer watch.stop()
		if _, err := watch.find(); err != nil { // once the command has printed its first line, it misses no event
			return err
		}
		b.watches = append(b.watches, watch)
	}
	return b.lose(ctx, l.nodes[wardServers+wardClients-1])
}

func clientName(i int) string { return fmt.Sprintf("client-%c", 'a'+i-wardServers) }

// wardConfig returns the configuration of daemon i; the first daemons are servers.
func wardConfig(l *lab, i int) string {
	all := "['" + l.first(wardServers) + "']"
	const times = "  times:\n    ping: 300ms\n    client: 1s\n    evict: 2500ms\n    tick: 100ms\n"
	if i < wardServers {
		return "gossip:\n  interval: 200ms\n  cold_start: 1\n  nids: " + all + "\nscoll:\n  enable: 1\nhealth:\n  server: 1\n" + times
	}
	return "health:\n  client: 1\n  name: " + clientName(i) + "\n  attach: all\n  servers: " + all + "\n" + times
}

// board is a table that shows the clients of each server.
type board struct {
	l       *lab
	w       io.Writer
	live    bool // w is a terminal, so the table is redrawn in place
	columns int  // width of the terminal, so that a line takes one row; 0: unknown
	watches []*watch
	killed  time.Time // time when a client was killed; zero: none was killed
	drawn   string
}

// lose shows the table until all clients are connected, kills a client, and shows the table
// until that client is connected to no server.
func (b *board) lose(ctx context.Context, victim *node) error {
	err := b.until(ctx, func(held []map[string]string) bool {
		return !slices.ContainsFunc(held, func(m map[string]string) bool { return len(m) < wardClients })
	})
	if err != nil {
		return err
	}
	if err := b.l.kill(victim); err != nil {
		return err
	}
	b.killed = time.Now()
	name := clientName(b.l.size - 1)
	if !b.live {
		fmt.Fprintf(b.w, "\n%s is killed.\n", name)
	}
	err = b.until(ctx, func(held []map[string]string) bool {
		return !slices.ContainsFunc(held, func(m map[string]string) bool { return m[name] != "" })
	})
	if err != nil {
		return err
	}
	return b.tell(name)
}

// until draws the table repeatedly until a condition holds. If the board is not live, it draws
// the table only once, at the end.
func (b *board) until(ctx context.Context, holds func([]map[string]string) bool) error {
	every := wardWait
	if b.live {
		every = wardLook
	}
	return until(ctx, every, func() (missing string, err error) {
		var held []map[string]string
		for _, n := range b.l.nodes[:wardServers] {
			states, err := b.l.held(ctx, n)
			if err != nil {
				return "", err
			}
			held = append(held, states)
		}
		over := holds(held)
		if !over {
			missing = fmt.Sprintf("servers hold %v", held)
		}
		if over || b.live {
			err = b.draw(held)
		}
		return missing, err
	})
}

// held returns the clients that are connected to a server, by name, with their states.
func (l *lab) held(ctx context.Context, n *node) (map[string]string, error) {
	out, err := l.lnetctl(ctx, n, "client", "list", "--json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Clients []struct{ Name, State, Master string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("clients of %s: %w", n.nid, err)
	}
	states := map[string]string{}
	for _, c := range list.Clients {
		if states[c.Name] = c.State; c.Master == n.nid && c.State == "connected" {
			states[c.Name] = "master"
		}
	}
	return states, nil
}

// draw draws the table, on a terminal over the previous one.
func (b *board) draw(held []map[string]string) error {
	var table cli.Table
	head := []any{"CLIENT"}
	for _, n := range b.l.nodes[:wardServers] {
		head = append(head, n.nid)
	}
	table.Row(head...)
	for i := wardServers; i < b.l.size; i++ {
		table.Row(b.row(clientName(i), i == b.l.size-1 && !b.killed.IsZero(), held)...)
	}
	var text bytes.Buffer
	_ = table.Print(&text) // cannot fail: writing to a buffer does not
	over := ""
	if b.live && b.drawn != "" {
		over = fmt.Sprintf("\x1b[%dA\x1b[J", strings.Count(b.drawn, "\n"))
	} else if b.drawn != "" {
		over = "\n"
	}
	b.drawn = string(cli.Fit([]byte(indent(text.String())), b.columns))
	_, err := io.WriteString(b.w, over+b.drawn)
	return err
}

// row returns a row of the table: the state of a client at each server.
func (b *board) row(name string, killed bool, held []map[string]string) []any {
	row, missing := []any{name}, "-"
	if killed {
		row, missing = []any{name + " (killed)"}, "evicted"
	}
	for _, states := range held {
		row = append(row, cmp.Or(states[name], missing))
	}
	return row
}

// tell prints the times at which the servers evicted the client.
func (b *board) tell(name string) error {
	var times []time.Duration
	fmt.Fprintf(b.w, "\nEvicted (lnetctl health watch, at each):\n\n")
	for _, watch := range b.watches {
		line, err := watch.find(" evicted ", name)
		if err != nil {
			return err
		}
		at, err := timeOfDay(line)
		if err != nil {
			return err
		}
		times = append(times, at)
		fmt.Fprintf(b.w, "    %-14s %s\n", watch.nid, line)
	}
	first, last := slices.Min(times), slices.Max(times)
	killed, _ := timeOfDay(b.killed.Format(eventTime)) // cannot fail, since the text has the format of event times
	_, err := fmt.Fprintf(b.w, "\nThe first one did so %v after the client's death, the last one %v later.\n",
		(first-killed+24*time.Hour).Round(time.Millisecond)%(24*time.Hour), last-first)
	return err
}

// eventTime is the format in which lnetctl prints the times of events.
const eventTime = "15:04:05.000"

func timeOfDay(line string) (time.Duration, error) {
	t, err := time.Parse(eventTime, line[:min(len(line), len(eventTime))])
	return t.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)), err
}
