package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
)

// peerChange are the flags of 'peer add' and 'peer del'.
type peerChange struct {
	primary string
	nids    []string
	ranges  string
	nonMR   bool
}

func (p *peerChange) add(c *cobra.Command) {
	c.Flags().StringVarP(&p.primary, "prim_nid", "k", "", "primary `NID`, which names the peer")
	c.Flags().StringArrayVarP(&p.nids, "nid", "n", nil, "further `NIDS` of it; brackets enclose numbers and ranges, commas separate")
	c.Flags().StringVarP(&p.ranges, "ip2nets", "i", "", "`RANGE` such as 'tcp 10.0.0.[1-4]': a peer of each address")
}

func peerAdd(g *globals) *cobra.Command {
	p := new(peerChange)
	c := &cobra.Command{
		Use:   "add {--prim_nid NID [--nid NIDS] | --ip2nets RANGE} [--non_mr]",
		Short: "Configure a peer, or add NIDs to a configured one",
		Long: `Says which NIDs are those of one node. What is configured wins over what is
discovered, until 'peer del' removes it or lnetd ends. All peers of a range, up to 16384,
are configured, or none. --lock_prim is taken, and means nothing more: the primary NID of
a configured peer never changes.`,
		Example: "  lnetctl peer add --prim_nid 10.0.0.2@tcp --nid 10.0.1.2@tcp1",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := p.peers("add")
			if err != nil || len(list) == 0 {
				return err
			}
			r := node.AddPeerRequest{Primary: list[0][0], NIDs: list[0][1:], NonMR: p.nonMR}
			for _, peer := range list[1:] {
				r.Peers = append(r.Peers, peer[0])
			}
			return failing(node.OpAddPeer.Call(c.Context(), g.client(), r), "add", "peer", "cannot add peer")
		},
	}
	p.add(c)
	c.Flags().BoolVarP(&p.nonMR, "non_mr", "m", false, "the peer uses one interface only")
	c.Flags().BoolP("lock_prim", "l", false, "taken, and the case for all configured peers")
	return c
}

func peerDel(g *globals) *cobra.Command {
	p := new(peerChange)
	c := &cobra.Command{
		Use:   "del --prim_nid NID [--nid NIDS]",
		Short: "Forget a peer, or NIDs of it",
		Long: `Removes the NIDs from a peer, or forgets the peer if there are none or its primary
NID is one of them. A message to it later discovers it anew.`,
		Example: "  lnetctl peer del --prim_nid 10.0.0.2@tcp",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := p.peers("del")
			for _, peer := range list {
				r := node.RemovePeerRequest{Primary: peer[0], NIDs: peer[1:]}
				if err := node.OpRemovePeer.Call(c.Context(), g.client(), r); err != nil {
					return failing(err, "del", "peer", "cannot del peer")
				}
			}
			return err
		},
	}
	p.add(c)
	c.Flags().BoolP("force", "f", false, "taken: nothing keeps a peer from being removed")
	return c
}

// peers returns the peers that the flags name, the primary NID of each first.
func (p *peerChange) peers(section string) (list [][]nid.NID, err error) {
	bad := func(err error) error {
		return netlinkError(section, "peer", -int(syscall.EINVAL), "cannot parse peer", err)
	}
	if p.ranges != "" {
		if p.primary != "" || len(p.nids) > 0 {
			return nil, bad(cli.Usagef("--ip2nets names whole peers, without --prim_nid and --nid"))
		}
		ids, err := rangeNIDs(p.ranges)
		if err != nil {
			return nil, bad(cli.Usagef("--ip2nets: %w", err))
		}
		for _, id := range ids {
			list = append(list, []nid.NID{id})
		}
		return list, nil
	}
	if p.primary == "" {
		return nil, bad(cli.Usagef("peer %s needs --prim_nid, or --ip2nets", section))
	}
	primary, err := parseNID(p.primary)
	if err != nil {
		return nil, bad(cli.Usagef("--prim_nid: %w", err))
	}
	peer := []nid.NID{primary}
	for _, text := range p.nids {
		more, err := expandNIDs(text)
		if err != nil {
			return nil, bad(cli.Usagef("--nid: %w", err))
		}
		if peer = append(peer, more...); len(peer) > node.MaxPeersAtOnce {
			return nil, bad(cli.Usagef("--nid: more than %d NIDs", node.MaxPeersAtOnce))
		}
	}
	return [][]nid.NID{peer}, nil
}

// rangeNIDs returns the NIDs of a range of addresses on a network, "tcp 10.0.0.[1-4]".
func rangeNIDs(s string) ([]nid.NID, error) {
	words := strings.Fields(s)
	if len(words) < 2 {
		return nil, errors.New("want a network and addresses, as 'tcp 10.0.0.[1-4]'")
	}
	var ids []nid.NID
	for _, word := range words[1:] {
		more, err := expandNIDs(word + "@" + words[0])
		if err != nil {
			return nil, err
		}
		if ids = append(ids, more...); len(ids) > node.MaxPeersAtOnce {
			return nil, fmt.Errorf("more than %d peers at a time", node.MaxPeersAtOnce)
		}
	}
	return ids, nil
}

// expandNIDs parses NIDs separated by commas. Brackets in a NID enclose numbers and ranges.
func expandNIDs(s string) (ids []nid.NID, err error) {
	for _, part := range splitOutside(s) {
		texts, err := nid.ExpandText(part, node.MaxPeersAtOnce)
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			id, err := parseNID(text)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// splitOutside splits a text at the commas that are not in brackets.
func splitOutside(s string) (parts []string) {
	depth, begin := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth <= 0 {
				parts = append(parts, s[begin:i])
				begin = i + 1
			}
		}
	}
	return append(parts, s[begin:])
}

func peerList(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the primary NIDs of all peers",
		Example: "  lnetctl peer list",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			docs := []pingNIDoc{}
			err := eachPage(c, g, func(page node.PeerPage) error {
				for _, p := range node.PeerTree(page, nid.NID{}, 0, udsp.List{}) {
					docs = append(docs, pingNIDoc{p.Primary})
				}
				return nil
			})
			if err != nil {
				return failing(err, "show", "peer", "cannot list peers")
			}
			if len(docs) == 0 && !g.json {
				return nil
			}
			return g.print(c, map[string][]pingNIDoc{"peer list": docs})
		},
	}
}
