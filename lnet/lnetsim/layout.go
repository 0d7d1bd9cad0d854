package lnetsim

import (
	"fmt"

	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

// maxNets is the highest number of nets.
const maxNets = 64

// layout says which nets the nodes are on. The first nodes are routers, which are on every
// net; the others are spread over the nets in blocks. On each of its nets a node has an NI by
// each rail.
type layout struct {
	nodes, nets, rails, routers int
}

func (l layout) validate() error {
	switch {
	case l.nets > 1 && l.routers == 0:
		return fmt.Errorf("lnetsim: %d nets without a router between them", l.nets)
	case l.routers > 0 && l.nets < 2:
		return fmt.Errorf("lnetsim: %d routers on one net: want two nets or more", l.routers)
	case l.nodes-l.routers < l.nets:
		return fmt.Errorf("lnetsim: %d nodes that are no routers, on %d nets: want one for each at least", l.nodes-l.routers, l.nets)
	case l.rails > int(simlnd.MaxRails):
		return fmt.Errorf("lnetsim: %d rails: want %d at most", l.rails, simlnd.MaxRails)
	}
	return nil
}

// isRouter reports whether node id is a router.
func (l layout) isRouter(id sim.NodeID) bool { return int(id) < l.routers }

// home returns the net of a node that is no router, and net 0 of a router.
func (l layout) home(id sim.NodeID) int {
	if l.isRouter(id) {
		return 0
	}
	return (int(id) - l.routers) * l.nets / (l.nodes - l.routers)
}

// network returns the net with a number: tcp, tcp1 and so on.
func (layout) network(i int) nid.Net { return nid.MakeNet(nid.TCP, uint16(i)) }

// interfaces returns the NIs of node id.
func (l layout) interfaces(id sim.NodeID) (list []Interface) {
	from, to := l.home(id), l.home(id)+1
	if l.isRouter(id) {
		to = l.nets
	}
	for net := from; net < to; net++ {
		for rail := range simlnd.Rail(l.rails) {
			list = append(list, Interface{l.network(net), rail})
		}
	}
	return list
}

// name returns the NID to which one node sends its messages for another. It is the NID of the first rail
// of the node to. If the two nodes have a net in common, the NID is on that net.
func (l layout) name(from, to sim.NodeID) nid.NID {
	net := l.home(to)
	if l.isRouter(to) {
		net = l.home(from)
	}
	return simlnd.NIDOn(l.network(net), to, 0)
}

// routes returns the routes of a node: to every other net, by the NID of each router on the node's
// own net.
func (l layout) routes(id sim.NodeID) (list []route.Route) {
	if l.isRouter(id) {
		return nil
	}
	home := l.home(id)
	for net := range l.nets {
		for router := range sim.NodeID(l.routers) {
			if net != home {
				list = append(list, route.New(l.network(net), simlnd.NIDOn(l.network(home), router, 0)))
			}
		}
	}
	return list
}
