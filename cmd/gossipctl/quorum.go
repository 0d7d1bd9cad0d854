package main

import (
	"context"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
)

func quorumCommand(g *globals) *cobra.Command {
	return question[quorumDoc]{
		use: "quorum", short: "Show whether enough participants are alive",
		long: `Shows whether more participants are alive, this node included, than the quorum
asks for. The command succeeds in both cases.`,
		example: "  gossipctl quorum --json | jq .quorum",
		args:    cli.Args(),
		ask: func(ctx context.Context, _ []string) (quorumDoc, error) {
			s, err := g.status(ctx)
			if err != nil {
				return quorumDoc{}, err
			}
			p, err := gossip.OpGossipParams.Call(ctx, g.client(), control.None{})
			return quorumDoc{s.Quorum, s.Alive, s.N, p.Quorum}, err
		},
	}.command(g)
}

type quorumDoc struct {
	Quorum  bool `json:"quorum"`
	Alive   int  `json:"alive"`
	N       int  `json:"n"`
	Percent int  `json:"percent"` // more than that must be alive
}
