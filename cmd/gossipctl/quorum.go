package main

import (
	"context"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
)

func quorumCommand(g *globals) *cobra.Command {
	return cli.Question[quorumDoc]{
		Use: "quorum", Short: "Show whether enough participants are alive",
		Long: `Shows whether more participants are alive, this node included, than the quorum
asks for. The command succeeds in both cases.`,
		Example: "  gossipctl quorum --json | jq .quorum",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) (quorumDoc, error) {
			s, err := g.status(ctx)
			if err != nil {
				return quorumDoc{}, err
			}
			p, err := gossip.OpParams.Call(ctx, g.client(), control.None{})
			return quorumDoc{s.Quorum, s.Alive, s.N, p.Quorum}, err
		},
	}.Command(&g.json)
}

type quorumDoc struct {
	Quorum  bool `json:"quorum"`
	Alive   int  `json:"alive"`
	N       int  `json:"n"`
	Percent int  `json:"percent"` // there is a quorum while more than this percentage is alive
}
