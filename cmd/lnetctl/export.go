package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

func exportCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "export [--backup] > FILE",
		Short: "Print the configuration of the node, for import",
		Long: `Prints the configuration of the running node with its state, with the keys of the kernel's
tool. 'lnetctl import' makes the same node of it; of counters and states, and of lo, it takes
nothing. --backup leaves these out, and settings that only ulnet has: a kernel's tool imports that,
too. An interface is named in a backup, or where another address than its first is used, the NID.`,
		Example: "  lnetctl export --backup > lnet.conf",
		Args:    cli.Args(),
	}
	backup := c.Flags().BoolP("backup", "b", false, "only what is necessary to configure a node like this one")
	c.RunE = func(c *cobra.Command, _ []string) error {
		t, err := node.Remote(g.client()).Tree(c.Context())
		if err != nil {
			return err
		}
		if *backup {
			return g.print(c, t.Backup())
		}
		return g.print(c, t.Exported())
	}
	return c
}
