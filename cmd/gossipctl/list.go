package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
)

func listCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "Change the list of participants while they run",
		Long: `Changes the list of participants while they run, without a false death:

  1. 'list stage' with the new list on every node of the old one: from then on it
     understands both lists. New nodes may be started with the new list now.
  2. 'list status' on any node until all have staged it. It names those that have
     not. If the new nodes are half of the new list or more, start them, and wait
     until more than half of the new list is alive, too: new nodes are silent at
     first.
  3. 'list commit' on every node: it speaks the new list. A node that is not in
     it takes part no more.
  4. The list in the configuration of every lnetd, for its next start.

Who is dead is not waited for; it must have the new list when it comes back.`,
	}
	c.AddCommand(stageCommand(g), commitCommand(g), cancelCommand(g), listStatusCommand(g))
	return c
}

func stageCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "stage {NIDS... | --nids-file FILE}",
		Short: "Prepare a new list of participants",
		Long: `Makes this node understand a new list of participants besides the present one. A
list that was staged before is replaced.

` + nidsHelp,
		Example: "  gossipctl list stage '10.0.0.[1-22]@tcp'",
	}
	nids := addNIDsFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		list, err := nids.read(c, args)
		if err != nil {
			return err
		}
		return gossip.OpStage.CallWith(c.Context(), g.client(), control.None{}, list)
	}
	return c
}

func commitCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "commit [--anyway]",
		Short: "Change to the staged list",
		Long: `Makes this node speak the list that was staged. It refuses while a participant
that is alive is not known to have staged the list, too: to that one this node
would be a stranger. It also refuses while half of the new list or more is not
alive: servers of client health would lose their quorum, and evict all clients.`,
		Example: "  gossipctl list commit",
		Args:    cli.Args(),
	}
	anyway := c.Flags().Bool("anyway", false, "leave behind who has not staged it, and do without a quorum")
	c.RunE = func(c *cobra.Command, _ []string) error {
		err := gossip.OpCommit.Call(c.Context(), g.client(), gossip.CommitRequest{Anyway: *anyway})
		if err == nil {
			fmt.Fprintln(c.ErrOrStderr(), "change the list in the configuration of lnetd too, for its next start")
		}
		return err
	}
	return c
}

func cancelCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "cancel",
		Short:   "Give up the staged list",
		Long:    "Gives up a list that was staged on this node and not committed.",
		Example: "  gossipctl list cancel",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return gossip.OpCancel.Call(c.Context(), g.client(), control.None{})
		},
	}
}
