package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/gossip"
)

func commitCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "commit [--anyway]",
		Short: "Change to the staged list",
		Long: `Makes this node speak the list that was staged. It refuses while a participant
that is alive is not known to have staged the list, too: to that one this node
would be a stranger.`,
		Example: "  gossipctl list commit",
		Args:    cli.Args(),
	}
	anyway := c.Flags().Bool("anyway", false, "leave behind who has not staged it")
	c.RunE = func(c *cobra.Command, _ []string) error {
		err := gossip.OpGossipCommit.Call(c.Context(), g.client(), gossip.GossipCommit{Anyway: *anyway})
		if err == nil {
			fmt.Fprintln(c.ErrOrStderr(), "change the list in the configuration of lnetd too, for its next start")
		}
		return err
	}
	return c
}
