package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/health"
)

const (
	// drainTimeout bounds the wait for draining: each client needs a ping and an election to choose
	// another master.
	drainTimeout = 2 * time.Minute
	// drainLook is the interval in which the command asks for the progress.
	drainLook = 200 * time.Millisecond
)

func serverDrain(g *globals) *cobra.Command {
	var noWait, force bool
	c := &cobra.Command{
		Use:   "drain [--no-wait | --timeout TIME] [--force]",
		Short: "Have all clients choose other masters, before maintenance",
		Long: `Has all clients of which this server is the master choose another one, and keeps it
from becoming a master again until 'lnetctl server undrain' or a restart. Their
connections to this server stay, so that nothing is lost; nobody becomes an orphan
when it is stopped afterwards.

The last server that takes clients refuses, and says which others drain; with --force
it goes on as before until another takes its clients.

The command waits until no client has this server as its master, and its own
evictions have reached all live servers; after --timeout it fails, and the server
goes on draining.`,
		Example: `  lnetctl server drain && systemctl stop lnetd
  lnetctl server drain --no-wait`,
		Args: cli.Args(),
	}
	limit := timeoutFlag(c, "timeout", "", "wait so long at most, such as 500ms; a bare number is seconds (default 2m)")
	c.Flags().BoolVar(&noWait, "no-wait", false, "only begin, and do not wait")
	c.Flags().BoolVar(&force, "force", false, "drain although no other server takes clients")
	c.MarkFlagsMutuallyExclusive("no-wait", "timeout")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := health.OpDrain.Call(c.Context(), g.client(), health.DrainRequest{On: true, Force: force}); c.Context().Err() != nil {
			return cli.Hint(errors.New("interrupted: this server may be draining"), "see 'lnetctl server list'; 'lnetctl server undrain' takes it back")
		} else if err != nil {
			return err
		}
		d := drain{g: g, talk: c.ErrOrStderr()}
		doc, err := d.look(c.Context())
		if err != nil && c.Context().Err() != nil {
			return cli.Hint(errors.New("interrupted: this server is draining"), goesOn)
		}
		if err == nil && !noWait && !doc.Drained {
			doc, err = d.wait(c.Context(), doc, cmp.Or(limit.value, drainTimeout))
		}
		if doc != nil && g.json {
			return errors.Join(cli.JSON(c.OutOrStdout(), doc), err)
		}
		if err == nil {
			_, err = fmt.Fprintln(c.OutOrStdout(), doc)
		}
		return err
	}
	return c
}

func serverUndrain(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "undrain",
		Short: "Let this server be a master again",
		Long: `Takes 'lnetctl server drain' back: clients may choose this server as their master
again. Those that have moved stay where they are.`,
		Example: "  lnetctl server undrain",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return health.OpDrain.Call(c.Context(), g.client(), health.DrainRequest{})
		},
	}
}

// drainDoc is the progress of a draining server.
type drainDoc struct {
	Drained   bool   `json:"drained"`   // the server can be stopped without harm to its clients
	Mastered  int    `json:"mastered"`  // number of clients that still have this server as their master
	Clients   int    `json:"clients"`   // number of connected clients of any master
	Evictions int    `json:"evictions"` // number of broadcasts of evictions under way; withdrawals that wait only for servers dead for T_q do not count
	Alive     int    `json:"alive"`     // number of live servers, this one included
	Self      string `json:"self"`
}

// String returns the progress in one line.
func (d *drainDoc) String() string {
	if d.Drained {
		return fmt.Sprintf("%s is drained: it is nobody's master; connections that stay: %d", d.Self, d.Clients)
	}
	s := fmt.Sprintf("%s is draining: clients that have it as their master: %d", d.Self, d.Mastered)
	if d.Alive < 2 && d.Mastered > 0 {
		s += "; no other server is alive, whom they could choose"
	}
	if d.Evictions > 0 {
		s += fmt.Sprintf("; broadcasts of evictions on their way: %d", d.Evictions)
	}
	return s
}

// drain waits until a server is no longer the master of any client.
type drain struct {
	g    *globals
	talk io.Writer
}

// look asks the daemon for the progress.
func (d *drain) look(ctx context.Context) (*drainDoc, error) {
	s, err := health.OpStatus.Call(ctx, d.g.client(), control.None{})
	switch {
	case err != nil:
		return nil, err
	case s.Server == nil || !s.Server.Draining:
		return nil, cli.Hint(errors.New("this server does not drain any more"), "was 'lnetctl server undrain' called, or lnetd restarted?")
	}
	doc := &drainDoc{
		Mastered: s.Server.Mastered, Clients: s.Server.ServerStatus.Clients, Evictions: s.Server.Batches, Alive: s.Server.Alive,
		Self: s.Server.Self.String(),
	}
	doc.Drained = doc.Mastered == 0 && doc.Evictions == 0
	return doc, nil
}

// wait waits until the server is drained or the time limit is over, and prints the progress.
func (d *drain) wait(ctx context.Context, doc *drainDoc, limit time.Duration) (*drainDoc, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	said := ""
	err := cli.Repeat(ctx, drainLook, func() error {
		now, err := d.look(ctx)
		if err != nil {
			return err
		}
		if doc = now; doc.Drained {
			return cli.ErrEnough
		}
		if line := doc.String(); line != said {
			said = line
			fmt.Fprintln(d.talk, line)
		}
		return nil
	})
	if err == nil && !doc.Drained {
		err = d.over(ctx, doc, limit)
	}
	return doc, err
}

// goesOn is the hint for a server that is still draining when the command ends.
const goesOn = "it goes on draining: 'lnetctl server drain' waits again, 'lnetctl server undrain' takes it back"

// over returns the error of a wait that ended before the server was drained.
func (d *drain) over(ctx context.Context, doc *drainDoc, limit time.Duration) error {
	why, hint := fmt.Sprintf("not drained after %v", limit), goesOn
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "interrupted"
	}
	if doc.Alive < 2 {
		hint += ";\n  'lnetctl server list' shows who is dead"
	} else if doc.Mastered > 0 {
		hint += ";\n  'lnetctl client list --master " + doc.Self + "' shows who is left; other servers that drain take none"
	}
	return cli.Hint(fmt.Errorf("%s: %v", why, doc), "%s", hint)
}
