package main

import (
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/fault"
)

func faultPartition(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "partition 'NIDS | NIDS...'",
		Short: "Keep sets of nodes apart",
		Long: `Lets nothing pass any more, at this node, between sets of NIDs. The | between
them needs quotes, or each set is an argument of its own. NIDs in none of the
sets form one of their own, so that a single one is cut off from all others.
Another partition takes the place of the one before; 'fault heal' ends it.`,
		Example: `  lnetctl fault partition '10.0.0.[1-5]@tcp | 10.0.0.[6-9]@tcp'
  lnetctl fault partition 10.0.0.2@tcp`,
		Args: cli.AtLeastOne("set of NIDs"),
		RunE: func(c *cobra.Command, args []string) error {
			between := " | "
			if strings.Contains(strings.Join(args, ""), "|") {
				between = " "
			}
			p, err := fault.ParsePartition(strings.Join(args, between))
			if err != nil {
				return cli.Usagef("%w", err)
			}
			_, err = node.OpAddFault.Call(c.Context(), g.client(), node.AddFault{Statement: "partition " + p.String()})
			return err
		},
	}
}

func faultHeal(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "heal",
		Short:   "End the partition",
		Long:    "Ends the partition. Rules with 'cut' are taken away by 'fault del'.",
		Example: "  lnetctl fault heal",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return node.OpEndFault.Call(c.Context(), g.client(), node.EndFault{Partition: true})
		},
	}
}

func faultPause(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "pause [--for TIME]",
		Short: "Let no message out of the node or in",
		Long: `Lets no message out of the node or in, as if it had stopped, until 'fault
resume' or for a time. What is sent and what arrives meanwhile is kept, up to
4096 messages and 64 MiB, and goes on afterwards, in order. Connections and the
control socket work on.`,
		Example: "  lnetctl fault pause --for 5s",
		Args:    cli.Args(),
	}
	limit := timeoutFlag(c, "for", "", "how long, such as 500ms; a bare number is seconds; without it until 'fault resume'")
	c.RunE = func(c *cobra.Command, _ []string) error {
		statement := "pause"
		if limit.value > 0 {
			statement += " " + limit.value.String()
		}
		_, err := node.OpAddFault.Call(c.Context(), g.client(), node.AddFault{Statement: statement})
		return err
	}
	return c
}

func faultResume(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "resume",
		Short:   "End a pause",
		Example: "  lnetctl fault resume",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return node.OpEndFault.Call(c.Context(), g.client(), node.EndFault{Pause: true})
		},
	}
}
