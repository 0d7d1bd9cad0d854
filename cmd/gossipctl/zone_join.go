package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/zone"
)

func zoneJoinCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "join",
		Short: "Have this node join its zone again",
		Long: `Has a node that left its zone join it again, as the section zone of lnetd's
configuration says, in a new life: its attributes are to be written again. lnetd
joins by itself when it starts.`,
		Example: "  gossipctl zone join",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return zone.OpJoin.Call(c.Context(), g.client(), control.None{})
		},
	}
}

func zoneLeaveCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "leave [--code N]",
		Short: "Have this node say goodbye",
		Long: `Has this node say goodbye to its zone: the others remove it at once, and those who
watch are told the code. It sends and answers nothing any more until it joins
again, and its attributes are gone. lnetd goes on; when it ends it says goodbye by
itself, with code 0.`,
		Example: "  gossipctl zone leave --code 3",
		Args:    cli.Args(),
	}
	code := c.Flags().Int32("code", 0, "a `NUMBER` for those who watch")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return zone.OpLeave.Call(c.Context(), g.client(), zone.LeaveRequest{Code: *code})
	}
	return c
}

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
			return zone.OpRemove.Call(c.Context(), g.client(), zone.NodeName{Node: args[0]})
		},
	}
}
