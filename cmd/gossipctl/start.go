package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
)

func startCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "start",
		Short: "Begin to take part",
		Long: `Begins to take part, with the parameters of the last init, as the participant
that is a NID of this node. Without --cold-start at init the node is silent at
first, until all others have noticed that it was gone.`,
		Example: "  gossipctl start",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return gossip.OpStart.Call(c.Context(), g.client(), control.None{})
		},
	}
}

func stopCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Take part no more",
		Long: `Ends taking part: nothing is sent or answered any more, and the others will hold
this node for dead. The parameters stay for the next start.`,
		Example: "  gossipctl stop",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return gossip.OpStop.Call(c.Context(), g.client(), control.None{})
		},
	}
}
