package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

func expandCommand(env cli.Env) *cobra.Command {
	var h how
	c := &cobra.Command{
		Use:   "expand FILE",
		Short: "Print what a scenario's random and repeated faults come to",
		Long: `Prints a scenario in which everything is drawn and counted out that a run draws
from its seed: one 'at' for each thing that happens. It runs to the same digest.`,
		Example: "  lnetsim expand my.sim --seed 7",
	}
	h.add(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		file, o, err := h.options(c, args)
		if err != nil {
			return err
		}
		nodes := file.Nodes
		if o.Nodes > 0 {
			nodes = o.Nodes
		}
		plain, err := file.Expand(nodes, *o.Seed)
		if err != nil {
			return err
		}
		_, err = env.Stdout.Write(plain.Format())
		return err
	}
	return c
}
