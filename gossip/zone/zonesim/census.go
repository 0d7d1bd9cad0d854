package zonesim

import (
	"fmt"
	"slices"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// censusRight reports whether each supervisor that takes part knows the size of every base
// zone, its active delegate and the supervisor that guards it (MS-98), and takes no zone for current of which no
// member runs any more (see gone).
func (n *Net) censusRight(by sim.NodeSet) (bool, string) {
	sizes := map[string]int{}
	for _, g := range n.bases() {
		if size := n.size(g); size > 0 {
			sizes[g.name] = size
		}
	}
	return kit.All(n.taking(n.supervisors, by), func(id sim.NodeID) string { return n.census(id, sizes) })
}

// size returns the number of members of a zone that run.
func (n *Net) size(g *group) (size int) {
	for id := range g.nodes.All(n.cfg.Nodes) {
		if n.runs(id) {
			size++
			if g.base > 0 {
				size = n.incarnations[id].(*program).stub.count
			}
		}
	}
	return size
}

// census returns what is wrong with the census of a supervisor.
func (n *Net) census(id sim.NodeID, sizes map[string]int) string {
	known := 0
	for _, e := range n.incarnations[id].census() {
		d, ok := n.nodeOf(e.Delegate)
		guard, guarded := n.nodeOf(e.Supervisor)
		switch want := sizes[e.Zone]; {
		case want == 0:
			if why := n.gone(&e, guard); why != "" {
				return fmt.Sprintf("supervisor %v knows %s as %v: %s", id, e.Zone, e.State, why)
			}
			continue
		case e.State != engine.Current:
			return fmt.Sprintf("in the eyes of supervisor %v %s is %v", id, e.Zone, e.State)
		case e.Size != want:
			return fmt.Sprintf("supervisor %v knows %d members of %s, there are %d", id, e.Size, e.Zone, want)
		case !ok || !n.Up(d) || n.incarnations[d].delegation().Activation != e.Activation:
			return fmt.Sprintf("supervisor %v takes node %v for the active delegate of %s", id, d, e.Zone)
		case !guarded || !n.Up(guard):
			return fmt.Sprintf("supervisor %v takes node %v for the one that guards %s", id, guard, e.Zone)
		}
		known++
	}
	if known != len(sizes) {
		return fmt.Sprintf("supervisor %v knows %d zones of %d", id, known, len(sizes))
	}
	return ""
}

// gone returns what is wrong with the entry of a zone of which no member runs any more, by docs/membership.md, "State of
// a zone in the census". The entry is stale when the zone has not been heard for a timeout and 5τ, and lost after six
// timeouts; supervisors learn that from each other within another timeout. If all members said goodbye, the entry is
// gone, unless the supervisor that guarded the zone has died, or counted as dead because it was paused.
func (n *Net) gone(e *engine.CensusEntry, guard sim.NodeID) string {
	since, bye := never, true
	for _, g := range n.bases() {
		for id := range g.nodes.All(n.cfg.Nodes) {
			if f := &n.faults.nodes[id]; g.name == e.Zone {
				since, bye = max(since, f.went), bye && f.left
			}
		}
	}
	timeout, past := n.filled.Timeout, n.Now()-since
	guards := n.faults.nodes[guard].fine
	switch {
	case bye && guards != never && guards < since && past > timeout:
		return fmt.Sprintf("all of its members said goodbye, the last at %v", since)
	case e.State == engine.Current && past > 2*timeout+5*n.filled.Aggregation, e.State == engine.Stale && past > 7*timeout:
		return fmt.Sprintf("none of its members runs since %v", since)
	}
	return ""
}

// monitors reports whether the nodes that take part know which running nodes of their zone are monitors: those that
// declared it, and active delegates (MS-101).
func (n *Net) monitors(by sim.NodeSet) (bool, string) {
	for id := range n.taking(by) {
		g := n.group(id)
		for owner := range g.nodes.All(n.cfg.Nodes) {
			if g.base > 0 || !n.runs(owner) {
				continue
			}
			list := n.incarnations[id].attributes(int(owner - g.first))
			is := slices.ContainsFunc(list, func(a wire.Attribute) bool { return a.Key == engine.MonitorKey && !a.Deleted })
			if want := n.faults.nodes[owner].monitor || n.incarnations[owner].delegation().Activation > 0; is != want {
				return false, fmt.Sprintf("node %v takes node %v for a monitor: %v", id, owner, is)
			}
		}
	}
	return true, ""
}
