// Package modules is the list of what runs on the node of the daemon: a module is a package
// below this one and its line in [List].
package modules

import (
	"ulnet/cmd/internal/modules/gossip"
	"ulnet/cmd/internal/modules/health"
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/cmd/internal/modules/zone"
	"ulnet/cmd/internal/node"
)

// List makes the modules of a node, and gives each what it needs of the others. They are opened
// in this order and closed in the reverse. Each comes after those that it uses.
func List(host node.Host) []node.Module {
	g := gossip.New(host)
	r := rmcast.New(host, g.View())
	s := scoll.New(host, g, r)
	return []node.Module{
		g,
		zone.New(host),
		r,
		s,
		health.New(host, g, s),
	}
}
