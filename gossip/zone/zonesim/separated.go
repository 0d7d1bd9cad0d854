package zonesim

import (
	"time"

	"ulnet/lnd/sim"
)

// others are the nodes of a zone, which pass news on.
type others struct {
	first     sim.NodeID
	count     int
	takesPart func(sim.NodeID) bool
}

// separated reports whether two nodes are separated: one does not receive what the other sends,
// and at most half of the other nodes of their zone could pass its news on. Partitions and cuts
// that ended recently count as if they had not ended.
func (t *faults) separated(a, b sim.NodeID, now time.Duration, zone others) bool {
	return t.unheard(a, b, now, zone) || t.unheard(b, a, now, zone)
}

func (t *faults) unheard(from, to sim.NodeID, now time.Duration, zone others) bool {
	if !t.severed(from, to, now) {
		return false
	}
	could, all := 0, 0
	for i := range zone.count {
		id := zone.first + sim.NodeID(i)
		if id == from || id == to || !zone.takesPart(id) {
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
	if t.sides != nil && t.sides[from] != t.sides[to] || t.before != nil && now < t.until && t.before[from] != t.before[to] {
		return true
	}
	for _, c := range t.cuts {
		if (c.until == never || now < c.until) && c.from.Has(from) && c.to.Has(to) {
			return true
		}
	}
	return false
}
