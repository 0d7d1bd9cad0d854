package sim

import (
	"cmp"
	"slices"
)

// watcher is an incarnation of a node that watches another node.
type watcher struct {
	node        NodeID
	incarnation uint32
}

func byNode(w watcher, id NodeID) int { return cmp.Compare(w.node, id) }

// watch registers a node for a Reset when the process of another dies.
func (n *Network[M]) watch(id, other NodeID) {
	if other < 0 || int(other) >= len(n.nodes) {
		n.stats.NoNode++
		return
	}
	if n.watched == nil {
		n.watched = make(map[NodeID][]watcher)
	}
	list, w := n.watched[other], watcher{id, n.nodes[id].incarnation}
	i, found := slices.BinarySearchFunc(list, id, byNode)
	if found {
		list[i] = w // replaces the watch of an earlier incarnation, if any
		return
	}
	n.watched[other] = slices.Insert(list, i, w)
}

// ignore undoes watch: node id gets no Reset any more when the process of the other one dies.
func (n *Network[M]) ignore(id, other NodeID) {
	list := n.watched[other]
	if i, found := slices.BinarySearchFunc(list, id, byNode); found {
		n.watched[other] = slices.Delete(list, i, i+1)
	}
}

// tellWatchers sends a Reset to all nodes that watch a node, in the order of their
// numbers, except those that a partition or cut separates from it.
func (n *Network[M]) tellWatchers(id NodeID) {
	list := n.watched[id]
	delete(n.watched, id)
	for _, w := range list {
		nd := &n.nodes[w.node]
		if nd.incarnation != w.incarnation || nd.state&stateUp == 0 || n.cuts.Apart(id, w.node) {
			continue
		}
		i, f := n.flights.take()
		f.kind, f.from, f.to, f.incarnation = Reset, id, w.node, w.incarnation
		n.queue.push(newEvent(n.now+n.latency(id, w.node), evArrive, w.node, i))
	}
}
