package main

import (
	"bufio"
	"errors"
	"fmt"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

func peerCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "peer", Short: "Peers that the node knows"}
	c.AddCommand(peerShow(g), peerAdd(g), peerDel(g), peerList(g), peerSet(g))
	return c
}

func peerShow(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "show [[--nid] NID] [-v [LEVEL]]",
		Short: "Show peers, or one of them",
		Long: `Shows the peers of the node with the keys of the kernel's tool; cause and
claimed ni are ours. NIDs that discovery knows to be one node's are one peer, by
its primary NID; any of them names it. Under claimed ni are NIDs that the peer
lists and that are not known to be its own. -v adds credits, statistics and the state of discovery,
-v 2 statistics by type of message and health.`,
		Example: "  lnetctl peer show --nid 10.0.0.2@tcp -v",
	}
	level := addVerbose(c)
	named := c.Flags().StringP("nid", "n", "", "show the peer that has this `NID`")
	c.RunE = func(c *cobra.Command, args []string) error {
		rest, err := takeLevel(c, level, args)
		if err != nil {
			return err
		}
		if *named != "" {
			rest = append(rest, *named)
		}
		var only nid.NID
		switch len(rest) {
		case 0:
		case 1:
			if only, err = parseNID(rest[0]); err != nil {
				return cli.Usagef("%w", err)
			}
		default:
			return cli.Usagef("peer show takes one NID, got %d", len(rest))
		}
		if err := checkUp(c.Context(), g, "peer"); err != nil {
			return err
		}
		if only.IsValid() {
			return showPeer(c, g, only, *level)
		}
		return showPeers(c, g, *level)
	}
	return c
}

// showPeers prints all peers, page by page, because there may be many.
func showPeers(c *cobra.Command, g *globals, level int) error {
	rules, err := g.rulesFor(c.Context(), level)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(c.OutOrStdout())
	list, some := cli.NewListPrinter[tree.Peer](out, g.json, "peer", tree.Write), g.json
	err = eachPage(c, g, func(page node.PeerPage) error {
		docs := node.PeerTree(page, nid.NID{}, level, rules)
		some = some || len(docs) > 0
		return list.Add(docs)
	})
	switch {
	case err != nil:
		return errors.Join(err, out.Flush())
	case !some:
		return nil // prints nothing, as the kernel's tool does
	}
	return errors.Join(list.Close(), out.Flush())
}

// eachPage calls show with all peers of the node, page by page.
func eachPage(c *cobra.Command, g *globals, show func(node.PeerPage) error) error {
	for after, more := (nid.NID{}), true; more; {
		page, err := node.OpPeers.Call(c.Context(), g.client(), node.PeersRequest{After: after, Limit: node.MaxPeerPage})
		if err == nil {
			err = show(page)
		}
		if err != nil {
			return err
		}
		if more = page.Next != nil; more {
			after = *page.Next
		}
	}
	return nil
}

// showPeer prints the peer that has a NID.
func showPeer(c *cobra.Command, g *globals, only nid.NID, level int) error {
	page, err := node.OpPeers.Call(c.Context(), g.client(), node.PeersRequest{NID: only})
	if err != nil {
		return err
	}
	rules, err := g.rulesFor(c.Context(), level)
	if err != nil {
		return err
	}
	docs := node.PeerTree(page, only, level, rules)
	if len(docs) == 0 {
		err := cli.Hint(fmt.Errorf("%v is not a peer of this node", only), "try 'lnetctl ping %v' first", only)
		return netlinkError("show", "peer", -int(syscall.ENOENT), "No such peer", err)
	}
	return g.print(c, map[string][]tree.Peer{"peer": docs})
}
