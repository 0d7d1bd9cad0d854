// Package modules is the list of what runs on the node of the daemon. Each module is a package
// below this one, with a line in [List].
package modules

import (
	"ulnet/cmd/internal/modules/gossip"
	"ulnet/cmd/internal/modules/health"
	"ulnet/cmd/internal/modules/metrics"
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/cmd/internal/modules/zone"
	"ulnet/cmd/internal/node"
)

// List makes the modules of a node, and passes to each the other modules that it uses, which
// come before it in the list. Modules are opened in the order of the list and closed in the
// reverse order.
func List(host node.Host) []node.Module {
	g := gossip.New(host)
	r := rmcast.New(host, g.SeenView())
	s := scoll.New(host, g, r)
	z, h, t := zone.New(host), health.New(host, g, s), selftest.New(host)
	return []node.Module{g, z, r, s, h, t, metrics.New(host, g, z, r, s, h, t)}
}
