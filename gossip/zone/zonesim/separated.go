package zonesim

import (
	"iter"
	"slices"
	"time"

	"ulnet/lnd/sim"
)

// separated reports whether two nodes are separated: messages of one of them do not reach the
// other, and at most half of the other nodes that zone yields could pass them on. Partitions and
// cuts that ended lately count as if they had not ended.
func (t *faults) separated(a, b sim.NodeID, now time.Duration, zone iter.Seq[sim.NodeID]) bool {
	return t.unheard(a, b, now, zone) || t.unheard(b, a, now, zone)
}

func (t *faults) unheard(from, to sim.NodeID, now time.Duration, zone iter.Seq[sim.NodeID]) bool {
	if !t.severed(from, to, now) {
		return false
	}
	could, all := 0, 0
	for id := range zone {
		if id == from || id == to {
			continue
		}
		if all++; !t.severed(from, id, now) && !t.severed(id, to, now) {
			could++
		}
	}
	return 2*could <= all
}

// severed reports whether a message from one node can only reach the other if a third node
// passes it on.
func (t *faults) severed(from, to sim.NodeID, now time.Duration) bool {
	return t.Apart(from, to) || slices.ContainsFunc(t.mended, func(m mended) bool { return now < m.until && m.Apart(from, to) })
}
