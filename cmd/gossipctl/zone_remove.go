package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/zone"
)

func zoneRemoveCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NODE",
		Short: "Remove a node that exists in views only",
		Long: `Removes a member from the views of the whole zone: one that was never there, as by a
wrong address, or that is gone for good and that nobody can miss. One command at
one node is enough. Those who watch are told that it said goodbye, with code
-2147483648. A node that lives notices that and is back at once: to take one out
that runs, use "leave" there.`,
		Example: "  gossipctl zone remove n7\n  gossipctl zone remove n7=10.0.0.7@tcp",
		Args:    cli.Args("a node"),
		RunE: func(c *cobra.Command, args []string) error {
			return zone.OpZoneRemove.Call(c.Context(), g.client(), zone.ZoneNode{Node: args[0]})
		},
	}
}
