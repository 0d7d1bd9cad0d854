package tree

import "time"

// maxRecommended is the largest K that [Recommend] considers.
const maxRecommended = 256

// Latency returns how long a message from the root of a tree of n nodes takes to reach the last
// of them. The network delivers a message after latency, and a node begins a send every
// overhead (collectives design, K-nomial Tree: l and o). So child i, counted from 0 in the
// order of sending, gets the message i·overhead + latency after its parent.
//
// It is for topologies whose subtrees are trees of the same topology, such as KNomial and KAry,
// because there the size of a subtree determines its latency.
func Latency(t Topology, n int, latency, overhead time.Duration) time.Duration {
	w := wave{t, latency, overhead, map[int]time.Duration{1: 0}}
	return w.through(n)
}

// wave computes how long a message takes through trees of one topology.
type wave struct {
	topology          Topology
	latency, overhead time.Duration
	known             map[int]time.Duration // results so far, by the size of the tree
}

// through returns how long a message takes through a tree of n nodes.
func (w *wave) through(n int) time.Duration {
	if d, ok := w.known[n]; ok {
		return d
	}
	last := time.Duration(0)
	for i, c := range (Tree{w.topology, n, 0}).AppendChildren(nil, 0) {
		last = max(last, time.Duration(i)*w.overhead+w.latency+w.through(c.Size))
	}
	w.known[n] = last
	return last
}

// Optimum returns the least [Latency] of any tree of n nodes. In that tree each node that has
// the message goes on sending it as long as some node does not have it (the optimal broadcast
// of the LogP model).
func Optimum(n int, latency, overhead time.Duration) time.Duration {
	// When a message arrives, its sender's next message arrives an overhead later (again), and its receiver's
	// first message a latency later (first). Both lists are sorted, because arrivals are taken in order of
	// time.
	last := time.Duration(0)
	again, first := make([]time.Duration, 0, n), append(make([]time.Duration, 0, n), latency)
	for range n - 1 {
		if len(again) > 0 && again[0] <= first[0] {
			last, again = again[0], again[1:]
		} else {
			last, first = first[0], first[1:]
		}
		again, first = append(again, last+overhead), append(first, last+latency)
	}
	return last
}

// Recommend returns the k-nomial tree with the least [Latency], of several the one with the
// smallest K. latency is half a round trip without load, and overhead the time between two
// sends of a node.
func Recommend(n int, latency, overhead time.Duration) KNomial {
	best, least := KNomial(2), Latency(KNomial(2), n, latency, overhead)
	for k := KNomial(3); int(k) <= min(n, maxRecommended); k++ {
		if time.Duration(k-2)*overhead+latency >= least {
			break // wider trees are not better: the root's last child gets the message no earlier than the last node of the best tree so far
		}
		if d := Latency(k, n, latency, overhead); d < least {
			best, least = k, d
		}
	}
	return best
}
