package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

func peerCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "peer", Short: "Peers that the node knows"}
	c.AddCommand(peerShow(g))
	return c
}

func peerShow(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:     "show [NID] [-v [LEVEL]]",
		Short:   "Show peers, or one of them",
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

// The documents of peer show have the keys of the kernel's tool.
type peerDoc struct {
	Primary   nid.NID     `json:"primary nid"`
	MultiRail bool        `json:"Multi-Rail"`
	NIs       []peerNIDoc `json:"peer ni"`
}

type peerNIDoc struct {
	NID   nid.NID `json:"nid"`
	State string  `json:"state"`           // up, down, NA
	Cause string  `json:"cause,omitempty"` // of state down
	*creditsDoc
	Statistics *statisticsDoc   `json:"statistics,omitempty"`
	Sent       *lnet.TypeCounts `json:"sent_stats,omitempty"`
	Received   *lnet.TypeCounts `json:"received_stats,omitempty"`
	Dropped    *lnet.TypeCounts `json:"dropped_stats,omitempty"`
}

type creditsDoc struct {
	Max         int `json:"max_ni_tx_credits"`
	Available   int `json:"available_tx_credits"`
	Min         int `json:"min_tx_credits"`
	QueuedBytes int `json:"tx_q_num_of_buf"`
}

// peerDocs makes a document of each peer, or of one. Without discovery every
// NID is a peer of its own.
func peerDocs(s node.Status, only nid.NID, level int) []peerDoc {
	docs := []peerDoc{}
	for _, p := range s.Peers {
		if !only.IsValid() || p.NID == only {
			docs = append(docs, peerDoc{Primary: p.NID, NIs: []peerNIDoc{newPeerNIDoc(p, level)}})
		}
	}
	return docs
}

func newPeerNIDoc(p lnet.PeerSnapshot, level int) peerNIDoc {
	doc := peerNIDoc{NID: p.NID, State: p.State}
	if p.State != lnet.PeerStateUp.String() && p.State != lnet.PeerStateDown.String() {
		doc.State = "NA"
	}
	if level >= 1 {
		doc.Cause = p.Cause
		doc.creditsDoc = &creditsDoc{p.MaxCredits, p.Credits, p.MinCredits, p.QueuedBytes}
		doc.Statistics = newStatisticsDoc(p.Traffic)
	}
	if level >= 2 {
		doc.Sent, doc.Received, doc.Dropped = &p.Traffic.Sent, &p.Traffic.Received, &p.Traffic.Dropped
	}
	return doc
}
