package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

func setCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "set", Short: "Change settings of the running node"}
	c.AddCommand(&cobra.Command{
		Use:     "discovery 0|1",
		Short:   "Turn the discovery of peers off or on; peers are told",
		Example: "  lnetctl set discovery 0",
		Args:    cli.Args("0 or 1"),
		RunE: func(c *cobra.Command, args []string) error {
			value, err := strconv.Atoi(args[0])
			if err != nil || value != 0 && value != 1 {
				return cli.Usagef("discovery is 0 or 1, not %q", args[0])
			}
			return node.OpSet.Call(c.Context(), g.client(), node.Setting{Name: "discovery", Value: value})
		},
	})
	return c
}
