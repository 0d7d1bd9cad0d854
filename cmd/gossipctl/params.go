package main

import (
	"context"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
)

func paramsCommand(g *globals) *cobra.Command {
	return cli.Question[gossip.Params]{
		Use: "params", Short: "Show the parameters in force",
		Long: `Shows the parameters in force, defaults filled in. Interval, number and digest of
the participants must be the same everywhere: where they differ, one of the
nodes takes part no more. Cycles are counted, the rest has its unit in its name.`,
		Example: "  gossipctl params",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) (gossip.Params, error) {
			return gossip.OpParams.Call(ctx, g.client(), control.None{})
		},
	}.Command(&g.json)
}
