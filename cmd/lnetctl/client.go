package main

import (
	"cmp"
	"context"
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

func clientCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "client", Short: "Clients of this server, by client health"}
	c.AddCommand(clientList(g), clientShow(g), clientEvict(g), clientHistory(g), clientTombstones(g))
	return c
}

// clientStates are the states of a client at a server.
var clientStates = []string{"connected", "orphaned", "recovering", "evicting", "saving"}

func clientList(g *globals) *cobra.Command {
	var master, address, state string
	var limit uint
	var all, differ bool
	c := &cobra.Command{
		Use:   "list [--master NID] [--nid NID] [--state STATE] | --all-servers [--differ]",
		Short: "List the clients that are connected to this server",
		Long: `Lists the clients that are connected to this server by their ids: who is their
master, by which choice (EPOCH), and when this server heard of them last, if it is
their master; of an orphan, for how long it is one. STATE is connected, orphaned
(its master is dead), recovering (known from before a restart of this server),
evicting, or saving (its record is on its way to the disk).

With --all-servers this server asks all of them, by collectives, and the list has a
line for each view of a client with the SERVERS that have it; a server that is not
connected to a client has no view. Where views differ the lines say so, and --differ
lists these clients only. Servers that did not answer are named, and the exit code is
1 then.`,
		Example: `  lnetctl client list --state orphaned
  lnetctl client list --all-servers --differ
  lnetctl client list --master 10.0.0.1@tcp --json | jq '.clients[].name'`,
		Args: cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if limit == 0 || limit > healthmod.MaxLimit {
				return cli.Usagef("--limit: want 1 to %d", healthmod.MaxLimit)
			}
			switch {
			case all && (master != "" || address != "" || state != ""):
				return cli.Usagef("--all-servers goes with --differ and --limit only")
			case all:
				return g.listEverywhere(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), healthmod.EverywhereFilter{Limit: int(limit), Differ: differ})
			case differ:
				return cli.Usagef("--differ is for --all-servers")
			}
			filter := healthmod.ClientFilter{State: state, Limit: int(limit)}
			if state != "" && !slices.Contains(clientStates, state) {
				return cli.Usagef("--state: %q is none of %s", state, strings.Join(clientStates, ", "))
			}
			var err error
			if filter.Master, err = parseNIDOf("master", master); err != nil {
				return err
			}
			if filter.NID, err = parseNIDOf("nid", address); err != nil {
				return err
			}
			list, err := healthmod.OpClients.Call(c.Context(), g.client(), filter)
			if err != nil {
				return err
			}
			if list.More {
				fmt.Fprintf(c.ErrOrStderr(), "%d of %d clients; --limit has more of them listed\n", len(list.Clients), list.Matching)
			}
			return cli.Show(c.OutOrStdout(), g.json, list, printClients)
		},
	}
	c.Flags().StringVar(&master, "master", "", "only clients whose master is `NID`")
	c.Flags().BoolVar(&all, "all-servers", false, "list what all servers say")
	c.Flags().BoolVar(&differ, "differ", false, "only clients about which servers disagree")
	c.Flags().StringVar(&address, "nid", "", "only clients that speak from `NID`")
	c.Flags().StringVar(&state, "state", "", "only clients in `STATE`")
	c.Flags().UintVar(&limit, "limit", healthmod.DefaultLimit, "list `N` at most")
	return c
}

func printClients(w io.Writer, list healthmod.ClientList) error {
	var table cli.Table
	table.Row("CLIENT", "NAME", "STATE", "MASTER", "EPOCH", "PEER", "HEARD")
	for _, c := range list.Clients {
		table.Row(c.Client, cmp.Or(c.Name, "-"), c.State, c.Master, c.Epoch, c.Peer, since(&c))
	}
	return table.Print(w)
}

// since returns the time since a client was last heard, or since it became an orphan.
func since(c *health.ClientInfo) string {
	switch {
	case c.State == "orphaned" || c.State == "recovering":
		return "for " + shortTime(c.Since)
	case c.Since == 0:
		return "-" // only the client's master, which is another server, knows the time
	}
	return shortTime(c.Since) + " ago"
}

// shortTime formats a time with tenths of a second, which is exact enough for people.
func shortTime(d time.Duration) string {
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func clientShow(g *globals) *cobra.Command {
	return cli.Question[health.ClientInfo]{
		Use: "show CLIENT", Short: "Show one client of this server",
		Long: `Shows what this server knows of a client, by its id or its name: life is the number
of its incarnation, epoch that of its latest choice of a master.`,
		Example: `  lnetctl client show compute-17
  lnetctl client show compute-17 --json | jq -r .client`,
		Args: cli.Args("CLIENT"),
		Ask: func(ctx context.Context, args []string) (health.ClientInfo, error) {
			return healthmod.OpClient.Call(ctx, g.client(), healthmod.ClientName{Client: args[0]})
		},
		Print: func(w io.Writer, c health.ClientInfo) error {
			return cli.YAML(w, clientDoc{c.Client, c.Name, c.Incarnation, c.State, c.Master, c.Epoch, c.Peer, since(&c)})
		},
	}.Command(&g.json)
}

// clientDoc is the YAML document of a client.
type clientDoc struct {
	Client      health.ClientID `json:"client"`
	Name        string          `json:"name,omitempty"`
	Incarnation uint64          `json:"life"`
	State       string          `json:"state"`
	Master      nid.NID         `json:"master"`
	Epoch       uint32          `json:"epoch"`
	Peer        nid.ProcessID   `json:"peer"`
	Heard       string          `json:"heard"`
}
