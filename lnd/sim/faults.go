package sim

import (
	"ulnet/lnd/link"
)

// Partition separates nodes: those in different sets reach each other no
// more. Nodes in none of them form a set of their own, and a node in several
// belongs to the last. It replaces the partition before. What is on its way
// still arrives.
func (n *Network[M]) Partition(sets ...NodeSet) { n.cuts.Partition(len(n.nodes), sets) }

// Cut lets nothing through from one set of nodes to another any more, in
// addition to partitions and earlier cuts. What is on its way still arrives.
func (n *Network[M]) Cut(from, to NodeSet) { n.cuts.Cut(from, to) }

// Heal ends partitions and cuts.
func (n *Network[M]) Heal() { n.cuts.Heal() }

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
