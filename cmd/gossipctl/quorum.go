package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
)

func quorumCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "quorum",
		Short: "Show whether enough participants are alive",
		Long: `Shows whether more participants are alive, this node included, than the quorum
asks for. The command succeeds in both cases.`,
		Example: "  gossipctl quorum --json | jq .quorum",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := g.status(c.Context())
			if err != nil {
				return err
			}
			p, err := gossip.OpGossipParams.Call(c.Context(), g.client(), control.None{})
			if err != nil {
				return err
			}
			return cli.Print(c.OutOrStdout(), g.json, quorumDoc{s.Quorum, s.Alive, s.N, p.Quorum})
		},
	}
}

type quorumDoc struct {
	Quorum  bool `json:"quorum"`
	Alive   int  `json:"alive"`
	N       int  `json:"n"`
	Percent int  `json:"percent"` // more than that must be alive
}
