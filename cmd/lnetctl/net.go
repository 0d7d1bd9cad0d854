package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

func netCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "net", Short: "Networks and interfaces of the node"}
	c.AddCommand(netShow(g))
	return c
}

func netShow(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:     "show [-v [LEVEL]]",
		Short:   "Show networks and interfaces, and whose connections they accept",
		Example: "  lnetctl net show -v 2",
	}
	level := addVerbose(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		rest, err := takeLevel(c, level, args)
		if err != nil {
			return err
		}
		if len(rest) > 0 {
			return cli.Usagef("net show takes no arguments, got %q", rest[0])
		}
		s, err := g.client().Status(c.Context())
		if err != nil {
			return err
		}
		return cli.Print(c.OutOrStdout(), g.json, struct {
			Net []netDoc `json:"net"`
		}{netDocs(s, *level)})
	}
	return c
}

// The documents of net show have the keys of the kernel's tool; accept and
// listen are ours.
type netDoc struct {
	Type string  `json:"net type"`
	NIs  []niDoc `json:"local NI(s)"`
}

type niDoc struct {
	NID         nid.NID           `json:"nid"`
	Status      string            `json:"status"`
	Interfaces  map[string]string `json:"interfaces,omitempty"`
	Accept      string            `json:"accept,omitempty"`
	Listen      string            `json:"listen,omitempty"`
	Statistics  *statisticsDoc    `json:"statistics,omitempty"`
	Sent        *lnet.TypeCounts  `json:"sent_stats,omitempty"`
	Received    *lnet.TypeCounts  `json:"received_stats,omitempty"`
	Dropped     *lnet.TypeCounts  `json:"dropped_stats,omitempty"`
	Tunables    *tunablesDoc      `json:"tunables,omitempty"`
	LND         *lndTunablesDoc   `json:"lnd tunables,omitempty"`
	Connections *int              `json:"connections,omitempty"`
	Reasons     map[string]uint64 `json:"reasons,omitempty"` // why connections were refused or ended
}

type statisticsDoc struct {
	Send uint64 `json:"send_count"`
	Recv uint64 `json:"recv_count"`
	Drop uint64 `json:"drop_count"`
}

func newStatisticsDoc(t lnet.Traffic) *statisticsDoc {
	return &statisticsDoc{t.Sent.Total(), t.Received.Total(), t.Dropped.Total()}
}

type tunablesDoc struct {
	PeerTimeout       int `json:"peer_timeout"` // seconds
	PeerCredits       int `json:"peer_credits"`
	PeerBufferCredits int `json:"peer_buffer_credits"`
	Credits           int `json:"credits"`
}

type lndTunablesDoc struct {
	ConnsPerPeer int `json:"conns_per_peer"`
	Timeout      int `json:"timeout"` // seconds
	TOS          int `json:"tos"`
}

// netDocs groups the NIs by net, in the order of configuration.
func netDocs(s node.Status, level int) []netDoc {
	docs := []netDoc{}
	index := map[string]int{}
	for _, ni := range s.NIs {
		i, ok := index[ni.Net]
		if !ok {
			i = len(docs)
			index[ni.Net] = i
			docs = append(docs, netDoc{Type: ni.Net})
		}
		docs[i].NIs = append(docs[i].NIs, newNIDoc(ni, level))
	}
	return docs
}

func newNIDoc(ni node.NIStatus, level int) niDoc {
	doc := niDoc{NID: ni.NID, Status: ni.Status}
	if ni.Interface != "" {
		doc.Interfaces = map[string]string{"0": ni.Interface}
	}
	if ni.Socklnd != nil {
		doc.Accept, doc.Listen = string(ni.Socklnd.Accept), ni.Socklnd.Listen
	}
	if level >= 1 {
		doc.Statistics = newStatisticsDoc(ni.Traffic)
		doc.Tunables = &tunablesDoc{
			int(ni.Tunables.PeerTimeout.Seconds()), ni.Tunables.PeerCredits,
			ni.Tunables.PeerBufferCredits, ni.Tunables.Credits,
		}
		if ni.Socklnd != nil {
			doc.LND = &lndTunablesDoc{ni.Socklnd.ConnsPerPeer, ni.Socklnd.SockTimeout, ni.Socklnd.TOS}
		}
	}
	if level >= 2 {
		doc.Sent, doc.Received, doc.Dropped = &ni.Traffic.Sent, &ni.Traffic.Received, &ni.Traffic.Dropped
	}
	if level >= 3 && ni.Socklnd != nil {
		doc.Connections, doc.Reasons = &ni.Socklnd.Connections, ni.Socklnd.Reasons
	}
	return doc
}
