package sim

import (
	"fmt"

	"ulnet/lnd/link"
)

// Topology says how messages get from one node to another. It does not change.
type Topology interface {
	// Route is the way from one node to another.
	Route(from, to NodeID) Route
	// Rates are the bandwidths of the links that nodes share, in bits per
	// second; Route names them by index.
	Rates() []int64
}

// Route is the path of a message.
type Route struct {
	Link *link.Quality // latency, loss and so on of the whole way; its Rate is not used
	Hops [4]int32      // indexes of the shared links, in order
	N    int8          // number of links in Hops
}

// Flat is a network in which all pairs of nodes are alike.
type Flat struct {
	Link link.Quality // quality of the path between any two nodes
}

// Route implements Topology.
func (t *Flat) Route(NodeID, NodeID) Route { return Route{Link: &t.Link} }

// Rates implements Topology.
func (*Flat) Rates() []int64 { return nil }

// Groups is a network of groups of nodes: racks behind switches, or zones in different places.
// Nodes of a group reach each other over Inside. A message to another group goes over Between,
// through the uplink of the sender's group and the downlink of the receiver's group. All nodes of a
// group share these links.
type Groups struct {
	Size            int          // nodes per group; the last one may have fewer
	Inside, Between link.Quality // quality of paths within a group, and between groups
	rates           []int64
}

// NewGroups divides nodes into groups of the given size. Each group has an uplink and a downlink
// of the bandwidth uplink, in bits per second; 0 is unlimited.
func NewGroups(nodes, size int, inside, between link.Quality, uplink int64) (*Groups, error) {
	if size < 1 || size > nodes {
		return nil, fmt.Errorf("sim: groups of %d nodes: want 1 to %d", size, nodes)
	}
	g := &Groups{Size: size, Inside: inside, Between: between}
	if uplink > 0 {
		g.rates = make([]int64, 2*((nodes+size-1)/size))
		for i := range g.rates {
			g.rates[i] = uplink
		}
	}
	return g, nil
}

// Route implements Topology.
func (g *Groups) Route(from, to NodeID) Route {
	a, b := int32(from)/int32(g.Size), int32(to)/int32(g.Size)
	if a == b {
		return Route{Link: &g.Inside}
	}
	r := Route{Link: &g.Between}
	if g.rates != nil {
		r.Hops, r.N = [4]int32{2 * a, 2*b + 1}, 2
	}
	return r
}

// Rates implements Topology: link 2g is the uplink of group g,
// link 2g+1 its downlink.
func (g *Groups) Rates() []int64 { return g.rates }
