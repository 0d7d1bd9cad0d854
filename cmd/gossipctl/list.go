package main

import "github.com/spf13/cobra"

func listCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "Change the list of participants while they run",
		Long: `Changes the list of participants while they run, without a false death:

  1. 'list stage' with the new list on every node of the old one: from then on it
     understands both lists. New nodes may be started with the new list now.
  2. 'list status' on any node until all have staged it. It names those that have
     not.
  3. 'list commit' on every node: it speaks the new list. A node that is not in
     it takes part no more.
  4. The list in the configuration of every lnetd, for its next start.

Who is dead is not waited for; it must have the new list when it comes back.`,
	}
	c.AddCommand(stageCommand(g), commitCommand(g), cancelCommand(g), listStatusCommand(g))
	return c
}
