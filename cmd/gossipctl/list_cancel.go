package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
)

func cancelCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "cancel",
		Short:   "Give up the staged list",
		Long:    "Gives up a list that was staged on this node and not committed.",
		Example: "  gossipctl list cancel",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return gossip.OpGossipCancel.Call(c.Context(), g.client(), control.None{})
		},
	}
}
