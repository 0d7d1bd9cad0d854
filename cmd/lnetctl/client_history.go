package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	healthmod "ulnet/cmd/internal/modules/health"
)

// pastFlags are the flags of verbs that list past evictions.
type pastFlags struct {
	address string
	limit   uint
	since   time.Duration
}

// add adds the flags to a verb. The text what says what the verb lists.
func (f *pastFlags) add(c *cobra.Command, what string) {
	c.Flags().StringVar(&f.address, "nid", "", "only clients that spoke from `NID`")
	c.Flags().DurationVar(&f.since, "since", 0, "only "+what+" of at most `AGE` ago, such as 10m")
	c.Flags().UintVar(&f.limit, "limit", healthmod.DefaultLimit, "list the latest `N`")
}

// filter makes a filter of the flags and arguments.
func (f *pastFlags) filter(args []string) (filter healthmod.PastFilter, err error) {
	if f.limit == 0 || f.limit > healthmod.MaxLimit || f.since < 0 {
		return filter, cli.Usagef("--limit: want 1 to %d; --since: want a time such as 10m", healthmod.MaxLimit)
	}
	filter = healthmod.PastFilter{Limit: int(f.limit), Since: f.since}
	if len(args) > 0 {
		filter.Client = args[0]
	}
	filter.NID, err = parseNIDOf("nid", f.address)
	return filter, err
}

func clientHistory(g *globals) *cobra.Command {
	var f pastFlags
	c := &cobra.Command{
		Use:   "history [CLIENT] [--nid NID] [--since AGE]",
		Short: "List the clients that this server has evicted",
		Long: `Lists the evictions by this server since lnetd was started, the latest 4096 of them,
the oldest first: when, whom, why, and who was the client's master. CLIENT is an id or
a name.`,
		Example: `  lnetctl client history --since 10m
  lnetctl client history compute-17 --json | jq -r '.evictions[].cause'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			filter, err := f.filter(args)
			if err != nil {
				return err
			}
			list, err := healthmod.OpHistory.Call(c.Context(), g.client(), filter)
			if err != nil {
				return err
			}
			if list.More {
				fmt.Fprintf(c.ErrOrStderr(), "the latest %d of %d evictions; --limit has more of them listed\n", len(list.Evictions), list.Matching)
			}
			return cli.Show(c.OutOrStdout(), g.json, list, printHistory)
		},
	}
	f.add(c, "evictions")
	return c
}

func printHistory(w io.Writer, list healthmod.PastList) error {
	var table cli.Table
	table.Row("TIME", "CLIENT", "NAME", "CAUSE", "MASTER", "EPOCH", "PEER", "LIFE")
	for _, p := range list.Evictions {
		table.Row(p.At.Local().Format("2006-01-02 15:04:05"), p.Client, cmp.Or(p.Name, "-"), p.Cause, p.Master, p.Epoch, p.Peer, p.Incarnation)
	}
	return table.Print(w)
}
