package lnet

import (
	"syscall"

	"ulnet/lnet/nid"
)

// Distance says how far away a NID is and by which NI one gets there
// (LNetDist).
type Distance struct {
	Hops   int     // 0: this node; 1: a net of this node
	Order  uint32  // smaller is better among equal hops
	Source nid.NID // the local NID that would be used
}

// Dist returns the distance of dst, or EHOSTUNREACH.
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
	return Distance{}, syscall.EHOSTUNREACH
}
