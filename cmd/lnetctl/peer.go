package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/nid"
)

func peerCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "peer", Short: "Peers that the node knows"}
	c.AddCommand(peerShow(g))
	return c
}

func peerShow(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "show [NID] [-v [LEVEL]]",
		Short: "Show peers, or one of them",
		Long: `Shows the peers of the node with the keys of the kernel's tool; cause is ours.
NIDs that discovery knows to be one node's are one peer, by its primary NID;
any of them names it. -v adds credits, statistics and the state of discovery,
-v 2 statistics by type of message, -v 3 health (which stays as it is: nothing
is judged yet).`,
		Example: "  lnetctl peer show 10.0.0.2@tcp -v",
	}
	level := addVerbose(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		rest, err := takeLevel(c, level, args)
		if err != nil {
			return err
		}
		var only nid.NID
		switch len(rest) {
		case 0:
		case 1:
			if only, err = nid.Parse(rest[0]); err != nil {
				return cli.Usagef("%w", err)
			}
		default:
			return cli.Usagef("peer show takes one NID, got %d", len(rest))
		}
		s, err := g.client().Status(c.Context())
		if err != nil {
			return err
		}
		docs := peerDocs(s, only, *level)
		if only.IsValid() && len(docs) == 0 {
			return cli.Hint(fmt.Errorf("%v is not a peer of this node", only), "try 'lnetctl ping %v' first", only)
		}
		return cli.Print(c.OutOrStdout(), g.json, struct {
			Peer []peerDoc `json:"peer"`
		}{docs})
	}
	return c
}
