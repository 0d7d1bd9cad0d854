package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/health"
)

func clientHistory(g *globals) *cobra.Command {
	var address string
	var limit uint
	var since time.Duration
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
			if limit == 0 || limit > node.MaxHealthLimit || since < 0 {
				return cli.Usagef("--limit: want 1 to %d; --since: want a time such as 10m", node.MaxHealthLimit)
			}
			filter := node.HealthPastFilter{Limit: int(limit), Since: since}
			if len(args) > 0 {
				filter.Client = args[0]
			}
			if address != "" {
				var err error
				if filter.NID, err = parseNID(address); err != nil {
					return cli.Usagef("--nid: %w", err)
				}
			}
			list, err := g.client().HealthHistory(c.Context(), filter)
			if err != nil {
				return err
			}
			if list.More {
				fmt.Fprintf(c.ErrOrStderr(), "the latest %d of %d evictions; --limit has more of them listed\n", len(list.Evictions), list.Matching)
			}
			if g.json {
				return cli.JSON(c.OutOrStdout(), list)
			}
			return printHistory(c.OutOrStdout(), list.Evictions)
		},
	}
	c.Flags().StringVar(&address, "nid", "", "only clients that spoke from `NID`")
	c.Flags().DurationVar(&since, "since", 0, "only evictions of at most `AGE` ago, such as 10m")
	c.Flags().UintVar(&limit, "limit", node.DefaultHealthLimit, "list the latest `N`")
	return c
}

func printHistory(w io.Writer, list []health.Past) error {
	var table cli.Table
	table.Row("TIME", "CLIENT", "NAME", "CAUSE", "MASTER", "EPOCH", "PEER", "LIFE")
	for _, p := range list {
		table.Row(p.At.Local().Format("2006-01-02 15:04:05"), p.Client, orDash(p.Name), p.Cause, p.Master, p.Epoch, p.Peer, p.Incarnation)
	}
	_, err := table.WriteTo(w)
	return err
}
