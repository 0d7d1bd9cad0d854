package engine

import (
	"slices"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// reported records the failed members that an answer names, each of them once.
func (g *Manager) reported(p *probe, o *wire.Order) {
	named := make(map[wire.ID]bool, len(o.Departed))
	for i, id := range o.Departed {
		if named[id] || !g.admitted.has(id.NID) || len(p.gone) >= g.most() {
			continue
		}
		named[id] = true
		p.gone = append(p.gone, id)
		if i >= len(o.Departed)-int(o.Silent) {
			p.silent++
		}
	}
}

// failures decides which reported failures are true. If the member itself answers, its failure counts only if
// more than half of the members that answered report it. If fewer report it, or the member is on this
// manager's list, the members that report the failure are expelled and join again: they have acted on the
// failure, so their state differs from the group's. There may be no room for failures that a lying member has invented, see
// urgent.
func (g *Manager) failures(probes []*probe) {
	r := reportsOf(probes)
	known, failed := make(map[wire.ID]bool, len(g.departed)), []wire.ID(nil)
	for _, d := range g.departed {
		known[d.id] = true
	}
	for _, p := range probes {
		for _, id := range p.gone {
			m := g.find(id)
			switch {
			case known[id] || m != nil && !m.listed: // the failure is known already, or the member has joined during the search: see oust
			case m == nil && (!r.answered[id] || r.most(r.failed[id])):
				known[id], failed = true, append(failed, id)
			default:
				g.stats.Contradicted++
				p.alone = true
			}
		}
	}
	slices.SortStableFunc(failed, g.urgent(&r))
	for _, id := range failed {
		g.departs(id, g.mayLive(id, &r))
	}
}

// urgent returns the order in which lists have room for failed members. Voters come first: if a list did not name one, the
// next manager would take another silent member for it, see silentVoters. Then come failures that more members report.
func (g *Manager) urgent(r *reports) func(a, b wire.ID) int {
	voters := g.base.voters()
	rank := func(id wire.ID) int {
		if voters[id] {
			return wire.MaxMembers
		}
		return r.failed[id]
	}
	return func(a, b wire.ID) int { return rank(b) - rank(a) }
}

// mayLive reports whether the process of a failed member may be alive. If a member calls it silent, an earlier manager has
// left it behind, and it may have joined again: then a later incarnation of its node does not show that it has ended.
func (g *Manager) mayLive(id wire.ID, r *reports) bool {
	switch {
	case g.dead[id.NID] || r.most(r.ended[id]):
		return false
	case r.failed[id] > r.ended[id]:
		return true
	}
	return !g.ended(id)
}

// reports counts what the members that answered a search say of failed members. A node counts once, even if it has
// answered in the names of several incarnations.
type reports struct {
	answered map[wire.ID]bool // the members that answered
	nodes    map[nid.NID]bool // their nodes
	failed   map[wire.ID]int  // how many of the nodes report a member as failed
	ended    map[wire.ID]int  // how many of these do not call it silent
}

func reportsOf(probes []*probe) reports {
	r := reports{make(map[wire.ID]bool, len(probes)), make(map[nid.NID]bool, len(probes)), make(map[wire.ID]int), make(map[wire.ID]int)}
	for _, p := range probes {
		if !p.answered {
			continue
		}
		r.answered[p.ID] = true
		if r.nodes[p.NID] {
			continue
		}
		r.nodes[p.NID] = true
		for i, id := range p.gone {
			if r.failed[id]++; i < len(p.gone)-p.silent {
				r.ended[id]++
			}
		}
	}
	return r
}

// most reports whether n are more than half of the nodes that answered.
func (r *reports) most(n int) bool { return 2*n > len(r.nodes) }

// oust ends those members in failed that have joined while this new manager searches for the latest list. The list
// failed has the members that some member of an earlier list counts as failed: an earlier manager gave them up before
// its list had reached them. If they stayed members, the member that counts them as failed would not wait for their
// acknowledgements. They have sent and delivered nothing yet, so nothing is lost: they join again, with new numbers.
func (g *Manager) oust(failed []wire.ID) {
	for _, id := range failed {
		if m := g.find(id); m != nil && !m.listed {
			g.members = slices.DeleteFunc(g.members, func(x *managed) bool { return x == m })
			g.departs(id, false)
			g.expel(id)
		}
	}
}

// departs records a failed member, if there is room for it. There may be none if a lying member has invented others. A
// member that has ended counts in no majority any more.
// Members keep room for themselves, and so do those about which gather has to decide yet: if they fail later, a list must
// not name more members and departed members than the buffers of members have room for.
func (g *Manager) departs(id wire.ID, silent bool) {
	if !silent {
		g.base.remove(id)
	}
	if len(g.departed)+len(g.members)+len(g.leavers)+len(g.collect.pending) < g.most() {
		g.departed = append(g.departed, departure{id: id, last: g.version, silent: silent})
	}
}

// hasSlot reports whether a slot on the next list is kept for a probe, which will be a member or a departed one: not if it
// has not answered and only one node has named it, which may have invented it.
func (p *probe) hasSlot() bool { return p.answered || p.named > 1 }

// slot returns the slot that is kept for a probe: its own if several nodes have named it, otherwise that of its node. A
// node can answer in the names of many members that it invents, and at most one of them becomes a member.
func (p *probe) slot() wire.ID {
	if p.named > 1 {
		return p.ID
	}
	return wire.ID{NID: p.NID}
}

// slotsOf returns the slots that are kept for probes.
func slotsOf(probes []*probe) map[wire.ID]bool {
	slots := make(map[wire.ID]bool, len(probes))
	for _, p := range probes {
		if p.hasSlot() {
			slots[p.slot()] = true
		}
	}
	return slots
}

// asked counts the members in a search that gather may put on the list: at most one on each node, see outlived.
func (g *Manager) asked() int {
	nodes := make(map[nid.NID]bool)
	for _, p := range g.collect.probes {
		if p.hasSlot() && !g.ended(p.ID) {
			nodes[p.NID] = true
		}
	}
	return len(nodes)
}

// outlived reports whether another incarnation on a member's node has joined, or a later one has answered: the
// member may have died after its answer.
func (g *Manager) outlived(id wire.ID, probes []*probe) bool {
	return slices.ContainsFunc(g.members, func(m *managed) bool { return m.NID == id.NID }) ||
		slices.ContainsFunc(probes, func(p *probe) bool { return p.answered && p.NID == id.NID && p.Incarnation > id.Incarnation })
}
