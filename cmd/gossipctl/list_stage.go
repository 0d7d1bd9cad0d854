package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
)

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
		return gossip.OpGossipStage.CallWith(c.Context(), g.client(), control.None{}, list)
	}
	return c
}
