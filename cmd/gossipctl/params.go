package main

import (
	"context"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
)

func paramsCommand(g *globals) *cobra.Command {
	return question[gossip.GossipParams]{
		use: "params", short: "Show the parameters in force",
		long: `Shows the parameters in force, defaults filled in. Interval, number and digest of
the participants must be the same everywhere: where they differ, one of the
nodes takes part no more. Cycles are counted, the rest has its unit in its name.`,
		example: "  gossipctl params",
		args:    cli.Args(),
		ask: func(ctx context.Context, _ []string) (gossip.GossipParams, error) {
			return gossip.OpGossipParams.Call(ctx, g.client(), control.None{})
		},
	}.command(g)
}
