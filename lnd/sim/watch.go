package sim

import "slices"

// watcher is a life of a node that wants to hear of another's end.
type watcher struct {
	node NodeID
	life uint32
}

// watch notes that a node wants to know when the process of another dies.
func (n *Network[M]) watch(id, other NodeID) {
	if other < 0 || int(other) >= len(n.nodes) {
		n.stats.NoNode++
		return
	}
	if n.watched == nil {
		n.watched = make(map[NodeID][]watcher)
	}
	w := watcher{id, n.nodes[id].life}
	if !slices.Contains(n.watched[other], w) {
		n.watched[other] = append(n.watched[other], w)
	}
}

// ignore undoes watch.
func (n *Network[M]) ignore(id, other NodeID) {
	n.watched[other] = slices.DeleteFunc(n.watched[other], func(w watcher) bool { return w.node == id })
}

// tellWatchers sends a Reset to everyone who watches a node. Who is separated
// from it does not hear of its end.
func (n *Network[M]) tellWatchers(id NodeID) {
	list := n.watched[id]
	delete(n.watched, id)
	for _, w := range list {
		nd := &n.nodes[w.node]
		if nd.life != w.life || nd.state&stateUp == 0 || n.separated(id, w.node) {
			continue
		}
		i := n.take()
		f := &n.flights[i]
		f.kind, f.from, f.to, f.life = Reset, id, w.node, w.life
		n.queue.push(event{at: n.now + n.latency(id, w.node), node: int32(w.node), ref: i, kind: evArrive})
	}
}
