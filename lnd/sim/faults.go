package sim

import (
	"ulnet/lnd/link"
)

// Partition separates nodes: those in different sets do not reach each other any more. Nodes in
// no set form a set of their own, and a node in several sets belongs to the last of these. The
// new partition replaces an earlier one. Messages that are on their way still arrive.
func (n *Network[M]) Partition(sets ...NodeSet) { n.cuts.Partition(len(n.nodes), sets) }

// Cut stops all messages from one set of nodes to another, in addition to partitions and
// earlier cuts. Messages that are on their way still arrive.
func (n *Network[M]) Cut(from, to NodeSet) { n.cuts.Cut(from, to) }

// Heal ends the partition and all cuts.
func (n *Network[M]) Heal() { n.cuts.Heal() }

// rule is one SetLink: it changes some paths.
type rule struct {
	from, to NodeSet
	change   link.Change
	quality  link.Quality // memory for the result of the method changed
}

// SetLink changes the quality of the paths from one set of nodes to another. Later changes of
// the same field win. A change of the rate has no effect: bandwidth belongs to access links
// and to the topology.
func (n *Network[M]) SetLink(from, to NodeSet, change link.Change) {
	n.rules = append(n.rules, rule{from: from, to: to, change: change})
}

// ResetLinks undoes every SetLink.
func (n *Network[M]) ResetLinks() { n.rules = nil }

// changed returns the quality base after the changes by all rules.
func (n *Network[M]) changed(from, to NodeID, base *link.Quality) *link.Quality {
	for i := range n.rules {
		if r := &n.rules[i]; r.from.Has(from) && r.to.Has(to) {
			r.quality = r.change.Apply(*base)
			base = &r.quality
		}
	}
	return base
}

// SetAccessRate sets the bandwidth of the nodes' own links, each way, in bits per second; 0 is
// unlimited. Messages that are queued there leave at the times that the earlier bandwidth gave
// them.
func (n *Network[M]) SetAccessRate(nodes NodeSet, rate int64) {
	if n.access == nil {
		n.access = make([]accessLink, len(n.nodes))
	}
	for id := range nodes.All(len(n.nodes)) {
		n.access[id].rate = rate
	}
}
