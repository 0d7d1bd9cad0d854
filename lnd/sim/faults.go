package sim

import (
	"slices"

	"ulnet/lnd/link"
)

// Partition separates nodes: those in different sets reach each other no
// more. Nodes in none of them form a set of their own, and a node in several
// belongs to the last. It replaces the partition before. What is on its way
// still arrives.
func (n *Network[M]) Partition(sets ...NodeSet) {
	n.group = make([]int32, len(n.nodes))
	for i, s := range sets {
		for id := range s.All(len(n.nodes)) {
			n.group[id] = int32(i + 1)
		}
	}
}

// cut is a one-way cut.
type cut struct{ from, to NodeSet }

// Cut lets nothing through from one set of nodes to another any more, in
// addition to partitions and earlier cuts. What is on its way still arrives.
func (n *Network[M]) Cut(from, to NodeSet) { n.cuts = append(n.cuts, cut{from, to}) }

// Heal ends partitions and cuts.
func (n *Network[M]) Heal() { n.group, n.cuts = nil, nil }

// separated reports whether a partition or cut keeps messages back.
func (n *Network[M]) separated(from, to NodeID) bool {
	if n.group != nil && n.group[from] != n.group[to] {
		return true
	}
	return len(n.cuts) > 0 && slices.ContainsFunc(n.cuts, func(c cut) bool { return c.from.Has(from) && c.to.Has(to) })
}

// rule changes what some paths are like.
type rule struct {
	from, to NodeSet
	change   link.Change
	quality  link.Quality // scratch
}

// SetLink changes what the paths from one set of nodes to another are like.
// Later changes of the same field win. A change of the rate has no effect:
// bandwidth belongs to access links and to the topology.
func (n *Network[M]) SetLink(from, to NodeSet, change link.Change) {
	n.rules = append(n.rules, rule{from: from, to: to, change: change})
}

// ResetLinks undoes every SetLink.
func (n *Network[M]) ResetLinks() { n.rules = nil }

// changed applies the rules to a quality.
func (n *Network[M]) changed(from, to NodeID, base *link.Quality) *link.Quality {
	for i := range n.rules {
		if r := &n.rules[i]; r.from.Has(from) && r.to.Has(to) {
			r.quality = r.change.Apply(*base)
			base = &r.quality
		}
	}
	return base
}

// SetAccessRate sets the bandwidth of the nodes' own links, each way, in bits
// per second; 0 is unlimited. What is queued there already keeps its time.
func (n *Network[M]) SetAccessRate(nodes NodeSet, rate int64) {
	if n.access == nil {
		n.access = make([]accessLink, len(n.nodes))
	}
	for id := range nodes.All(len(n.nodes)) {
		n.access[id].rate = rate
	}
}
