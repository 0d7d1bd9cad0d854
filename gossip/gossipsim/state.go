package gossipsim

import (
	"bytes"
	"fmt"
	"iter"
	"math/bits"
	"time"

	"ulnet/gossip/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
)

// view is the list of a node, with the health that the node reports.
type view struct {
	list  *engine.List
	alive []byte // one bit per node, as engine.Machine.AliveBits returns
}

// has reports whether a node is considered alive.
func (v view) has(id sim.NodeID) bool {
	i := v.list.Index(simlnd.NID(id))
	return i >= 0 && i/8 < len(v.alive) && v.alive[i/8]>>(i%8)&1 != 0
}

func (v view) count() (n int) {
	for _, b := range v.alive {
		n += bits.OnesCount8(b)
	}
	return n
}

// takesPart reports whether a node is up, is not paused and has not stopped.
func (n *Net) takesPart(id sim.NodeID) bool {
	return n.Up(id) && !n.Paused(id) && !n.Stopped(id)
}

// sends reports whether a node takes part and is not silent after its start.
func (n *Net) sends(id sim.NodeID) bool { return n.takesPart(id) && !n.incarnations[id].silent() }

// Stopped reports whether a node that is up has stopped taking part, because of its parameters
// or because it left the list.
func (n *Net) Stopped(id sim.NodeID) bool { return n.Up(id) && n.incarnations[id].stopped() }

// taking yields the nodes of a set that take part.
func (n *Net) taking(set sim.NodeSet) iter.Seq[sim.NodeID] {
	return func(yield func(sim.NodeID) bool) {
		for id := range set.All(n.cfg.Nodes) {
			if n.takesPart(id) && !yield(id) {
				return
			}
		}
	}
}

// views yields the views of the nodes of a set that take part.
func (n *Net) views(set sim.NodeSet) iter.Seq2[sim.NodeID, view] {
	return func(yield func(sim.NodeID, view) bool) {
		for id := range n.taking(set) {
			if !yield(id, n.incarnations[id].view()) {
				return
			}
		}
	}
}

// viewsEqual reports whether the nodes of a set that take part consider the same nodes alive.
// If not, why names two nodes that differ.
func (n *Net) viewsEqual(set sim.NodeSet) (ok bool, why string) {
	first, some := sim.NodeID(-1), view{}
	for id, v := range n.views(set) {
		switch {
		case first < 0:
			first, some = id, v
		case v.list != some.list || !bytes.Equal(v.alive, some.alive):
			return false, fmt.Sprintf("node %v thinks %d alive, node %v %d", first, some.count(), id, v.count())
		}
	}
	return first >= 0, "no node takes part"
}

// AliveExactly reports whether each node of a set that takes part considers exactly want nodes
// alive.
func (n *Net) AliveExactly(want int, set sim.NodeSet) (ok bool, why string) {
	for id, v := range n.views(set) {
		if got := v.count(); got != want {
			return false, fmt.Sprintf("node %v thinks %d alive", id, got)
		}
	}
	return true, ""
}

// Think reports whether all observers that take part consider all subjects alive or, if alive is
// false, dead. A node's view of itself does not count.
func (n *Net) Think(observers, subjects sim.NodeSet, alive bool) (ok bool, why string) {
	for id, v := range n.views(observers) {
		for subject := range subjects.All(n.Nodes()) {
			if subject != id && v.has(subject) != alive {
				return false, fmt.Sprintf("node %v thinks node %v alive: %v", id, subject, !alive)
			}
		}
	}
	return true, ""
}

// detectedWithin reports whether every node that has been down for longer than the given number of
// gossip cycles is considered dead by all observers. If an observer was paused or started in that time,
// the cycles count from the end of its pause, or from its start, and patience comes on top.
func (n *Net) detectedWithin(cycles int) (ok bool, why string) {
	limit, now, t := n.Cycles(cycles), n.Now(), &n.faults
	for id := range t.nodes {
		f := &t.nodes[id]
		if !f.down || f.ended == never || now-f.ended < limit {
			continue
		}
		subject := sim.NodeID(id)
		for observer, v := range n.views(sim.AllNodes) {
			o := &t.nodes[observer]
			if o.fine != never && now-max(o.fine, f.ended) >= limit+n.patience(observer) && v.has(subject) {
				return false, fmt.Sprintf("node %v is down since %v, and node %v thinks it alive", subject, f.ended, observer)
			}
		}
	}
	return true, ""
}

// patience returns for how much longer than others an observer may take to report a death: a node that was paused
// reports no change until it has enough news (docs/gossip-tuning.md, "Pauses").
func (n *Net) patience(observer sim.NodeID) time.Duration {
	if n.incarnations[observer].unsure() {
		return n.Cycles(n.limits.Dead + n.limits.Stealth)
	}
	return 0
}

// Quorum reports whether all nodes of a set that take part have a quorum; with want false, whether
// none of them has one.
func (n *Net) Quorum(set sim.NodeSet, want bool) (ok bool, why string) {
	for id := range n.taking(set) {
		if n.incarnations[id].quorum() != want {
			return false, fmt.Sprintf("node %v has a quorum: %v", id, !want)
		}
	}
	return true, ""
}

// Clock returns the Lamport clock of a node that is up.
func (n *Net) Clock(id sim.NodeID) uint64 { return n.incarnations[id].clock() }

// Machine returns the machine of a node's latest incarnation; nil before the first one, and
// with stacks.
func (n *Net) Machine(id sim.NodeID) *engine.Machine {
	if p, ok := n.incarnations[id].(*program); ok {
		return p.m
	}
	return nil
}

// Counters returns the sum of the counters of all nodes' latest incarnations.
func (n *Net) Counters() engine.Stats { return kit.Sum(n.incarnations, incarnation.stats) }

// spread returns the smallest and the largest Lamport clock of the nodes that take part.
func (n *Net) spread() (low, high uint64) {
	low = ^uint64(0)
	for id := range n.taking(sim.AllNodes) {
		c := n.Clock(id)
		low, high = min(low, c), max(high, c)
	}
	return min(low, high), high
}
