package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
)

func stopCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Take part no more",
		Long: `Ends taking part: nothing is sent or answered any more, and the others will hold
this node for dead. The parameters stay for the next start.`,
		Example: "  gossipctl stop",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return gossip.OpGossipStop.Call(c.Context(), g.client(), control.None{})
		},
	}
}
