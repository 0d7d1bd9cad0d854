package zonesim

import (
	"fmt"
	"iter"
	"slices"

	"ulnet/gossip/zone/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// Machine returns the machine of a node's latest incarnation; nil before the first one, and
// with stacks.
func (n *Net) Machine(id sim.NodeID) *engine.Machine {
	if p, ok := n.incarnations[id].(*program); ok {
		return p.m
	}
	return nil
}

// takesPart reports whether a node is up, is not paused and has not said goodbye.
func (n *Net) takesPart(id sim.NodeID) bool {
	return n.Up(id) && !n.Paused(id) && !n.faults.nodes[id].left
}

// runs reports whether a node is up and has not said goodbye.
func (n *Net) runs(id sim.NodeID) bool { return n.Up(id) && !n.faults.nodes[id].left }

// taking yields the nodes that are in all of some sets and take part.
func (n *Net) taking(sets ...sim.NodeSet) iter.Seq[sim.NodeID] {
	return func(yield func(sim.NodeID) bool) {
		for id := range sets[0].All(n.cfg.Nodes) {
			in := !slices.ContainsFunc(sets[1:], func(s sim.NodeSet) bool { return !s.Has(id) })
			if in && n.takesPart(id) && !yield(id) {
				return
			}
		}
	}
}

// Equal reports whether, in each zone, all nodes of a set that take part have equal views. If right
// is true, it also checks that these views contain all nodes of the zone that run, and no others.
func (n *Net) Equal(set sim.NodeSet, right bool) (ok bool, why string) {
	return kit.All(slices.Values(n.groups), func(g *group) string { return n.unequal(g, set, right) })
}

// unequal returns what is wrong with the views of a zone.
func (n *Net) unequal(g *group, set sim.NodeSet, right bool) string {
	first := sim.NodeID(-1)
	for id := range n.taking(g.nodes, set) {
		if first < 0 {
			first = id
			if ok, why := n.right(g, id); right && !ok {
				return why
			}
		} else if a, b := n.incarnations[first].status(), n.incarnations[id].status(); a.Members != b.Members || a.Hash != b.Hash {
			return fmt.Sprintf("node %v has %d members, node %v has %d", first, a.Members, id, b.Members)
		}
	}
	return ""
}

// right reports whether the view of a node contains exactly the running nodes of its zone.
func (n *Net) right(g *group, id sim.NodeID) (bool, string) {
	m := n.incarnations[id]
	size := m.status().Members
	if g.base > 0 {
		s := m.(*program).stub
		return size == s.count, fmt.Sprintf("delegate %v has %d members of %d", id, size, s.count)
	}
	members := 0
	for other := range g.nodes.All(n.cfg.Nodes) {
		if !n.runs(other) {
			continue
		}
		members++
		if v, ok := m.has(int(other - g.first)); !ok || v.Inc != n.incs[other] {
			return false, fmt.Sprintf("node %v does not have node %v", id, other)
		}
	}
	return size == members, fmt.Sprintf("node %v has %d members, %d run", id, size, members)
}

// knows checks the views of those nodes of the set by which take part. With want true, it reports
// whether each view has all other nodes of the same zone in the set about. With want false, it
// reports whether each view has none of them.
func (n *Net) knows(by, about sim.NodeSet, want bool) (bool, string) {
	for id := range n.taking(by) {
		g := n.group(id)
		for other := range about.All(n.Nodes()) {
			if g.ref(other) == 0 || other == id {
				continue
			}
			if _, ok := n.incarnations[id].has(int(other - g.first)); ok != want {
				return false, fmt.Sprintf("node %v has node %v as a member: %v", id, other, ok)
			}
		}
	}
	return true, ""
}

// Members reports whether each node of a set that takes part (see takesPart) has exactly want
// members in its view.
func (n *Net) Members(want int, by sim.NodeSet) (bool, string) {
	for id := range n.taking(by) {
		if size := n.incarnations[id].status().Members; size != want {
			return false, fmt.Sprintf("node %v has %d members", id, size)
		}
	}
	return true, ""
}

// Has reports whether all nodes of a set that are in the zone of owner and take part (see
// takesPart) have the attribute key of owner with the given value. With an empty value it reports
// whether none of these nodes has the attribute.
func (n *Net) Has(owner sim.NodeID, key, value string, by sim.NodeSet) (bool, string) {
	g := n.group(owner)
	if g.base > 0 {
		return true, "" // in a zone with a stub the members are not nodes: there is nothing to check
	}
	for id := range n.taking(g.nodes, by) {
		got, list := "", n.incarnations[id].attributes(int(owner-g.first))
		for i := range list {
			if list[i].Key == key && !list[i].Deleted {
				got = string(list[i].Value)
			}
		}
		if got != value {
			return false, fmt.Sprintf("node %v has %q", id, got)
		}
	}
	return true, ""
}

// Tables reports whether, in each zone, all nodes of the set that take part have the same
// versions of all attribute tables. A node takes part if it is up, is not paused and has not said
// goodbye. If the answer is no, the string names two nodes of a zone that differ.
func (n *Net) Tables(set sim.NodeSet) (bool, string) {
	for _, g := range n.groups {
		first := sim.NodeID(-1)
		for id := range n.taking(g.nodes, set) {
			if first < 0 {
				first = id
			} else if n.incarnations[first].status().Tables != n.incarnations[id].status().Tables {
				return false, fmt.Sprintf("nodes %v and %v have different attributes", first, id)
			}
		}
	}
	return true, ""
}

// guard returns the supervisor and the active delegate of a base zone, according to the first
// supervisor that takes part. Base zones are numbered from 0.
func (n *Net) guard(base int) (supervisor, delegate sim.NodeID, ok bool) {
	for id := range n.taking(n.supervisors) {
		if e, known := n.entry(id, n.bases()[base]); known {
			supervisor, _ = n.nodeOf(e.Supervisor)
			delegate, ok = n.nodeOf(e.Delegate)
		}
		return supervisor, delegate, ok
	}
	return 0, 0, false
}
