package lnet

import (
	"slices"
	"syscall"

	"ulnet/lnet/nid"
)

// Distance says how far away a NID is and from which NI messages reach it (LNetDist).
type Distance struct {
	Hops   int     // 0: this node; 1: a net of this node; n+1: beyond a route of n hops
	Order  uint32  // among equal hops, the smaller order is nearer
	Source nid.NID // local NID that a message would leave from
}

// Dist returns the distance of dst, or EHOSTUNREACH. Beyond gateways it is that of the
// route with the fewest hops, which need not be alive.
func (n *Node) Dist(dst nid.NID) (Distance, error) {
	list := *n.nis.Load()
	for _, ni := range list {
		if ni.nid == dst {
			d := Distance{Hops: 0, Order: 1, Source: dst}
			if dst.IsLo() {
				d.Order = 0
			}
			return d, nil
		}
	}
	for i, ni := range list {
		if ni.reaches(dst) {
			return Distance{Hops: 1, Order: 2 + uint32(i), Source: ni.nid}, nil
		}
	}
	return n.distBeyond(dst, list)
}

// distBeyond is Dist for a net that this node is not on.
func (n *Node) distBeyond(dst nid.NID, list []*NI) (Distance, error) {
	best := Distance{Order: 2 + uint32(len(list))}
	for _, g := range n.view.Load().Routes[dst.Net()] {
		hops := 1 + max(g.Hops, 1)
		i := slices.IndexFunc(list, func(ni *NI) bool { return ni.reaches(g.Router) })
		if i >= 0 && (best.Hops == 0 || hops < best.Hops) {
			best.Hops, best.Source = hops, list[i].nid
		}
	}
	if best.Hops == 0 {
		return Distance{}, syscall.EHOSTUNREACH
	}
	return best, nil
}
