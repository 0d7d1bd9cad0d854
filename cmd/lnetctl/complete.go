package main

import (
	"context"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

// completionPeers bounds the peers whose NIDs a completion offers.
const completionPeers = 1000

// offers are what shells offer: the NIDs and networks of the running node. Without a daemon there
// are none.
func (g *globals) offers() cli.Offers {
	of := func(list func(context.Context, *control.Client) []string) func(context.Context) []string {
		return func(ctx context.Context) []string { return list(ctx, control.NewClient(g.socket)) }
	}
	return cli.Offers{"NID": of(nidsOf), "NIDS": of(nidsOf), "NET": of(netsOf)}
}

// netsOf returns the networks of the node, and the networks that can be reached by routes.
func netsOf(ctx context.Context, client *control.Client) (list []string) {
	s, err := node.OpStatus.Call(ctx, client, control.None{})
	if err != nil {
		return nil
	}
	for _, ni := range s.NIs {
		list = append(list, ni.Net)
	}
	routes, err := node.OpRoutes.Call(ctx, client, control.None{})
	if err != nil {
		routes = nil // an error is ignored: the node's own networks are still offered
	}
	for _, r := range routes {
		list = append(list, r.Net)
	}
	return list
}

// nidsOf returns the NIDs of the node and its peers.
func nidsOf(ctx context.Context, client *control.Client) (list []string) {
	s, err := node.OpStatus.Call(ctx, client, control.None{})
	if err != nil {
		return nil
	}
	for _, ni := range s.NIs {
		list = append(list, ni.NID.String())
	}
	page, err := node.OpPeers.Call(ctx, client, node.PeersRequest{Limit: min(completionPeers, node.MaxPeerPage)})
	if err != nil {
		page = node.PeerPage{} // an error is ignored: the node's own NIDs are still offered
	}
	for _, p := range page.Peers {
		list = append(list, p.NID.String())
	}
	for _, k := range page.Known {
		for _, ni := range k.NIs {
			list = append(list, ni.NID.String())
		}
	}
	return list
}
