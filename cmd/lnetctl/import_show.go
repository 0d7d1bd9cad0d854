package main

import (
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// showFile prints the node's state of all that a file contains, in the order of the file.
func showFile(c *cobra.Command, g *globals, f *tree.File) error {
	e := node.Remote(g.client())
	t, err := e.Tree(c.Context())
	if err != nil {
		return err
	}
	rules, err := e.UDSP(c.Context())
	if err != nil {
		return err
	}
	s, err := e.Status(c.Context())
	if err != nil {
		return err
	}
	list, err := rules.List()
	if err != nil {
		return err
	}
	t.Net = node.NetTree(s, node.RulesLevel, list)
	shown, errs := new(tree.Tree), []*tree.Error(nil)
	for _, section := range f.Sections {
		if section.Key == "ping" || section.Key == "discover" {
			section.Errs = []*tree.Error{{Object: "import", Errno: syscall.EINVAL, Text: "invalid key '" + section.Key + "'", Line: section.Line}}
		}
		showSection(shown, t, section)
		errs = append(errs, section.Errs...)
	}
	if err := g.print(c, shown); err != nil || len(errs) == 0 {
		return err
	}
	for _, e := range errs {
		e.Verb = "show"
	}
	return importFailed(errs, nil)
}

// showSection copies what a section of the file names from the tree t to the tree shown.
func showSection(shown, t *tree.Tree, s tree.Section) {
	switch s.Key {
	case "global", "numa":
		shown.Global = t.Exported().Global
	case "routing":
		shown.Routing = t.Routing
	case "buffers":
		shown.Buffers = t.Buffers
	case "udsp":
		shown.UDSP = t.UDSP
	}
	for _, i := range s.Items {
		switch {
		case i.Net != nil:
			showNet(shown, t, i.Net)
		case i.Route != nil:
			for _, r := range t.Route {
				if r.Net == i.Route.Net && r.Gateway == i.Route.Gateway {
					shown.Route = append(shown.Route, r)
				}
			}
		case i.Peer != nil:
			if at := peerOf(t, i.Peer.Primary); at >= 0 {
				shown.Peer = append(shown.Peer, t.Peer[at])
			}
		}
	}
}

// showNet copies a network with all its NIs from t to shown, unless shown already has the network.
func showNet(shown, t *tree.Tree, n *tree.Net) {
	named := func(list []tree.Net) int {
		return slices.IndexFunc(list, func(has tree.Net) bool { return has.Type == n.Type })
	}
	if at := named(t.Net); at >= 0 && named(shown.Net) < 0 {
		shown.Net = append(shown.Net, t.Net[at])
	}
}

// peerOf returns the index in t.Peer of the peer that has a NID; -1: there is none.
func peerOf(t *tree.Tree, id nid.NID) int {
	return slices.IndexFunc(t.Peer, func(p tree.Peer) bool {
		return p.Primary == id || slices.ContainsFunc(p.NIs, func(ni tree.PeerNI) bool { return ni.NID == id })
	})
}
