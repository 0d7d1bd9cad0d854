package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/health"
	"ulnet/lnet/nid"
)

// evictTimeout bounds the wait for an eviction. It is much longer than it takes to detect the death
// of a server.
const evictTimeout = time.Minute

func clientEvict(g *globals) *cobra.Command {
	var address string
	var wait bool
	c := &cobra.Command{
		Use:   "evict {ID | --nid NID} [--wait [--timeout TIME]]",
		Short: "Evict a client from all servers",
		Long: `Evicts a client, with its exact id of 32 hexadecimal digits, from all servers at
once: each forgets it with all that it keeps for it. A client that still runs is told
so, and connects again in its next life. With --nid it evicts all clients of an NID
that this server can evict, and lists the others with where to evict them.

Only the lnetd of the client's master can do that; another one says which it is. An
orphan, whose master is dead, is evicted by whichever server is asked; it stays where
a later choice of a master is known. A server without a quorum ends the connection
here only, says so, and exits with 1: the others are not told.

The eviction goes on when the command has ended: 'lnetctl health watch' shows it. With
--wait the command waits until all live servers have answered; after --timeout it
names those that have not, and exits with 1.`,
		Example: `  lnetctl client evict 5f1d7a84db00d2fce00b31a7fc73224f
  lnetctl client evict --nid 10.0.0.17@tcp --wait --timeout 10s`,
		Args: cobra.MaximumNArgs(1),
	}
	c.Flags().StringVar(&address, "nid", "", "evict all clients that speak from `NID`")
	c.Flags().BoolVar(&wait, "wait", false, "wait until all live servers have answered")
	limit := timeoutFlag(c, "timeout", "", "wait so long at most, such as 10s; a bare number is seconds (default 1m)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if limit.value != 0 && !wait {
			return cli.Usagef("--timeout is for --wait")
		}
		e := evictor{g: g, out: c.OutOrStdout(), talk: c.ErrOrStderr(), many: c.Flags().Changed("nid")}
		targets, err := e.targets(c.Context(), args, address)
		if err != nil {
			return err
		}
		err = e.order(c.Context(), targets)
		if wait {
			err = errors.Join(err, e.wait(c.Context(), cmp.Or(limit.value, evictTimeout)))
		}
		return errors.Join(e.print(), err)
	}
	return c
}

// evictor evicts one or more clients, and prints the results.
type evictor struct {
	g         *globals
	out, talk io.Writer
	many      bool    // option --nid is given: evict all clients of an NID
	of        nid.NID // the NID of the option --nid
	list      []evictedDoc
}

// evictedDoc is the result of the eviction of a client.
type evictedDoc struct {
	healthmod.EvictReply
	Name string                    `json:"name,omitempty"`
	Wait *healthmod.EvictionStatus `json:"wait,omitempty"` // with --wait: progress of the eviction
}

// targets returns the clients to evict.
func (e *evictor) targets(ctx context.Context, args []string, address string) ([]health.ClientInfo, error) {
	switch {
	case (len(args) > 0) == e.many:
		return nil, cli.Usagef("want the id of a client, or --nid")
	case !e.many:
		id, err := health.ParseClientID(args[0])
		if err != nil {
			return nil, cli.Hint(cli.Usagef("%q is no client id: want its 32 hexadecimal digits, all of them", args[0]),
				"'lnetctl client list' shows the ids, and 'lnetctl client show NAME' that of one")
		}
		return []health.ClientInfo{{Client: id}}, nil
	}
	var err error
	if e.of, err = parseNID(address); err != nil {
		return nil, cli.Usagef("--nid: %w", err)
	}
	list, err := healthmod.OpClients.Call(ctx, e.g.client(), healthmod.ClientFilter{NID: e.of, Limit: healthmod.MaxLimit})
	if err == nil && len(list.Clients) == 0 {
		err = cli.Hint(fmt.Errorf("no client of %v is connected to this server", e.of),
			"'lnetctl client list' shows who is; ask another server if this one was just restarted")
	}
	return list.Clients, err
}

// order orders the evictions, one after the other. The error names the clients whose eviction
// has not begun.
func (e *evictor) order(ctx context.Context, targets []health.ClientInfo) error {
	for _, c := range targets {
		r, err := healthmod.OpEvict.Call(ctx, e.g.client(), healthmod.EvictRequest{Client: c.Client})
		if err != nil {
			return err
		}
		e.list = append(e.list, evictedDoc{EvictReply: r, Name: c.Name})
	}
	if !e.many {
		return notEvicted(&e.list[0].EvictReply)
	}
	return e.others()
}

// others returns the error that lists the clients of an NID that are not evicted, and says what
// to do: a client of another master can be evicted at that master, where one command evicts all
// its clients of the NID.
func (e *evictor) others() error {
	var text, hints []string
	for i := range e.list {
		r := &e.list[i].EvictReply
		err := notEvicted(r)
		if err == nil {
			continue
		}
		text = append(text, err.Error())
		hint := cli.HintOf(err)
		if r.Result == health.OtherMaster {
			hint = fmt.Sprintf("on %v: lnetctl client evict --nid %v", r.Master, e.of)
		}
		if !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	if len(text) == 0 {
		return nil
	}
	return cli.Hint(fmt.Errorf("%d of %d clients were not evicted from all servers:\n  %s", len(text), len(e.list), strings.Join(text, "\n  ")),
		"%s", strings.Join(hints, "\n  "))
}

// notEvicted returns the reason why an eviction has not begun, or nil if it has.
func notEvicted(r *healthmod.EvictReply) error {
	switch r.Result {
	case health.OK:
		return nil
	case health.NotConnected:
		return cli.Hint(fmt.Errorf("client %v is not connected to this server", r.Client),
			"'lnetctl client list' shows who is; ask another server if this one was just restarted")
	case health.OtherMaster:
		return cli.Hint(fmt.Errorf("the master of client %v is %v, and only that one can evict it", r.Client, r.Master),
			"on %v: lnetctl client evict %v", r.Master, r.Client)
	case health.Orphaned:
		return cli.Hint(fmt.Errorf("client %v is known from before a restart of this server, and its master %v has not confirmed it yet", r.Client, r.Master),
			"evict it there, or try again in some seconds; see 'lnetctl client show %v'", r.Client)
	case health.Busy:
		return cli.Hint(fmt.Errorf("client %v connects or is evicted at this moment", r.Client),
			"'lnetctl client show %v' says which; try again in a second", r.Client)
	case health.NoQuorum:
		return cli.Hint(fmt.Errorf("client %v was evicted from this server only, which is cut off from most others", r.Client),
			"it may be connected elsewhere, and connect here again: when 'lnetctl health status' says 'quorum: yes', evict it at its master")
	}
	return cli.Hint(fmt.Errorf("client %v was not evicted: %v", r.Client, r.Result), "see 'lnetctl health status'")
}
