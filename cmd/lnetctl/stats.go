package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet"
)

func statsCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "stats", Short: "Counters of the node"}
	c.AddCommand(&cobra.Command{
		Use:     "show",
		Short:   "Show the node's counters, and why messages were dropped",
		Example: "  lnetctl stats show",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := g.client().Status(c.Context())
			if err != nil {
				return err
			}
			return cli.Print(c.OutOrStdout(), g.json, struct {
				Statistics lnet.Stats `json:"statistics"`
			}{s.Stats})
		},
	})
	return c
}
