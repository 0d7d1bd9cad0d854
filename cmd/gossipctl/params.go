package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
)

func paramsCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "params",
		Short: "Show the parameters in force",
		Long: `Shows the parameters in force, defaults filled in. Interval, number and digest of
the participants must be the same everywhere: where they differ, one of the
nodes takes part no more. Cycles are counted, the rest has its unit in its name.`,
		Example: "  gossipctl params",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := gossip.OpGossipParams.Call(c.Context(), g.client(), control.None{})
			if err != nil {
				return err
			}
			return cli.Print(c.OutOrStdout(), g.json, p)
		},
	}
}
