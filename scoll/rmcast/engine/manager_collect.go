package engine

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// maxNumber is where communication numbers begin that are reassigned.
const maxNumber = 1 << 31

// collect is the state of a new manager's search: it asks members which lists and members they
// know (RM-A9). The manager does not trust what members say of others, and asks each named
// member too.
type collect struct {
	began    time.Duration
	by       time.Duration
	late     bool               // by has passed, and was put off once, see open
	reportBy time.Duration      // until when members may report, see reportsBy
	reported bool               // reportBy has passed, and was put off once, see open
	probes   []*probe           // members to which the manager has sent its query, but for those replaced since, see insert
	byID     map[wire.ID]*probe // the same probes, by member
	answered int                // number of probes that have been answered
	pending  map[wire.ID]bool   // at the end of the search: slots for probes about which gather has to decide yet, see departs
	ballots  []ballot           // lists that members have reported
	over     bool               // all known members have been asked: the search is over
	againAt  time.Duration      // after a failed search: when members that report are asked again
	heard    int                // number of members that this manager heard when it took over from a manager that hears fewer; else 0

	smaller        wire.Version // version of the list with which the manager did not go on, because its group was larger, see choose
	smallerMembers []wire.Member
}

// end drops the data of the search.
func (c *collect) end() { c.probes, c.byID, c.ballots, c.answered, c.heard = nil, nil, nil, 0, 0 }

// probe is a member that is being asked.
type probe struct {
	wire.Member
	answered bool
	grants   bool         // the member obeys this manager, or would obey it
	leaving  bool         // the member is leaving, and does not count in majorities
	version  wire.Version // version of the newest list that the member knows
	sum      uint64       // hash of that list, see ballot
	named    int          // number of nodes that have named this one
	own      bool         // the manager asks the member because its own node has reported it
	alone    bool         // this member alone reports failures of members that answer
	joined   *managed
	gone     []wire.ID // members that this member reports as failed
	silent   int       // how many of gone, counted from its end, failed because they were silent
}

// probe returns the probe of a member, or nil.
func (c *collect) probe(id wire.ID) *probe { return c.byID[id] }

// known handles the answer of a member. It asks the members that the answer names too, and
// records those that the answer reports as failed.
func (g *Manager) known(from nid.NID, o *wire.Order) {
	id := wire.ID{NID: from, Incarnation: o.Incarnation}
	p := g.collect.probe(id)
	if p == nil || p.answered || len(o.Members) == 0 || (o.Flags&wire.OrderVote != 0) != (g.role == standby) {
		return
	}
	g.spoke(from, o.Incarnation)
	delete(g.dead, from) // the node answers, so it is alive
	p.answered, p.version, p.leaving = true, o.Version, o.Flags&wire.OrderLeaving != 0
	p.grants = g.role == active || o.You != 0
	// A node counts once, even if it answers in the names of several members.
	first := !slices.ContainsFunc(g.collect.probes, func(q *probe) bool { return q != p && q.answered && q.NID == from })
	g.collect.answered++
	p.sum = g.collect.ballot(o, first)
	g.reported(p, o)
	named := make(map[wire.ID]bool, len(o.Members)) // a member may name another one only once
	for _, m := range o.Members {
		if named[m.ID] {
			continue
		}
		named[m.ID] = true
		if m.Number < maxNumber {
			g.next = max(g.next, m.Number+1)
		} else {
			m.Number = 0
		}
		if m.ID == id {
			p.Number = m.Number
		} else if m.NID != from && first {
			g.named(wire.Member{ID: m.ID})
		}
	}
	p.joined = &managed{Member: p.Member, mtu: int(o.MTU), known: o.Version, oldest: o.Oldest, heardAt: g.now}
	p.joined.limits(&g.cfg, o)
}

// expires reports whether the search has taken so long that members may have withdrawn their promise in favor of another
// manager, if there is one (see Machine.returns). That happens when the process was paused.
func (g *Manager) expires() bool {
	return len(g.cfg.Managers) > 1 && g.now > g.collect.began+4*g.cfg.Collect
}

// open reports whether answers may still come. If the time is up, but this process was stopped and notices it late,
// answers may wait to be read: then the search goes on for as long as the process was late, at most for a Heartbeat. So it
// does if the time for reports is up.
func (g *Manager) open() bool {
	c := &g.collect
	if late := g.now - c.reportBy; late >= 0 && !c.reported {
		c.reported, c.reportBy = true, g.now+min(late, g.cfg.Heartbeat)
	}
	if !slices.ContainsFunc(c.probes, func(p *probe) bool { return !p.answered && !g.ended(p.ID) }) {
		return g.now < g.reportsBy()
	}
	if late := g.now - c.by; late > 0 && !c.late {
		c.late, c.by = true, g.now+min(late, g.cfg.Heartbeat)
	}
	return g.now < c.by
}

// reportsBy returns until when members may report that no answer has named yet, although all that were asked have answered. If
// this manager has no list of another one, a single member may have answered, with an invented list without the others. All
// members report within a Heartbeat.
func (g *Manager) reportsBy() time.Duration {
	if g.role == standby || g.standby.list.Version.IsValid() && !g.version.IsValid() {
		return g.collect.began
	}
	return g.collect.reportBy
}

// gather ends the search when all members have answered, or the time is up. Members without an
// answer are left behind if the members that have answered are a majority.
func (g *Manager) gather() {
	c := &g.collect
	if len(c.probes) == 0 {
		return
	}
	if g.open() {
		return
	}
	latest := g.backed()
	switch {
	case g.expires() || latest == nil:
		g.unbacked()
		return
	case g.competes(latest):
		g.choose(latest)
		return
	}
	probes, ballots, joined := append(c.probes, g.unasked(latest)...), c.ballots, slices.Clone(g.members)
	smaller := g.outside(latest) <= g.hears(noMember) // than the group, whose members keep their places
	g.alone = false
	g.patientAt, g.watchAt = g.now, g.now+g.cfg.Heartbeat
	g.elected(latest)
	c.end()
	g.usable, g.free = wire.Version{}, wire.Version{} // not all members have a list of this manager
	c.pending = slotsOf(probes)
	g.failures(probes)
	var over []*probe
	for _, p := range probes {
		delete(c.pending, p.slot())
		switch {
		case g.find(p.ID) != nil: // nothing to do: the member has joined this manager meanwhile
		case g.isDeparted(p.ID):
			g.expel(p.ID)
		case !p.answered || p.alone || g.dead[p.NID] || g.outlived(p.ID, probes) || latest.leftBehind(p, ballots) || smaller && len(g.members) >= g.cfg.Members:
			over = append(over, p)
		default:
			c.over = true
			g.oust(p.gone)
			if p.Number == 0 || slices.ContainsFunc(g.members, func(m *managed) bool { return m.Number == p.Number }) {
				p.joined.Number = g.next
				g.next++
			}
			g.add(p.joined)
		}
	}
	g.makeRoom(joined)
	slices.SortStableFunc(over, func(a, b *probe) int { return b.named - a.named }) // IDs that only few members named may be invented, and come last
	for _, p := range over {
		g.departs(p.ID, !g.ended(p.ID))
		g.expel(p.ID)
	}
	g.separate()
	g.publish(true)
}

// unasked returns probes of the members of the list that goes on which this manager has not asked: there was no room for them
// because a node has invented members. Those that are alive report, and are asked for that. The others are left behind
// like members that do not answer, because messages may wait for them. A list has one member on a node unless a member lies.
func (g *Manager) unasked(b *ballot) (list []*probe) {
	nodes := make(map[nid.NID]bool, len(b.members))
	for _, m := range b.members {
		if !nodes[m.NID] && g.collect.probe(m.ID) == nil && g.find(m.ID) == nil {
			list = append(list, &probe{Member: wire.Member{ID: m.ID}, named: wire.MaxMembers})
		}
		nodes[m.NID] = true
	}
	return list
}

// unbacked ends a search that did not find a majority. It tells the user and does not change the group, so that other
// managers may still continue it. If no manager has sent a list, and a node has just asked to join, it begins a group.
// So it does if nodes have joined during the search, unless the search has expired: then most members may have answered.
func (g *Manager) unbacked() {
	g.collect.end()
	g.collect.againAt = g.now + 5*g.cfg.Takeover
	w := &g.standby
	switch {
	case g.role == standby && !w.list.Version.IsValid() && w.joinAt+g.cfg.Takeover > g.now && w.joinAt > 0:
		w.list = wire.Order{}
		// The list comes from members, not from a manager, and most of these members do not answer. The group
		// begins without them, so that the nodes that want to join need not wait for them.
		g.elect()
	case g.role == standby:
		g.alone = true
		w.manager, w.heardAt = nid.NID{}, g.now
	case !g.version.IsValid() && !w.list.Version.IsValid() && len(g.members) > 0 && !g.expires(): // nodes have joined during the search: they are the group
		g.collect.againAt = g.now + g.cfg.Takeover // members that report later are asked again soon, since most of them may be heard then
	case !g.version.IsValid() && len(g.cfg.Managers) > 1:
		g.alone = true
		g.resign(nid.NID{}, g.epoch)
	case !g.version.IsValid():
		g.members, g.changed = nil, false // nodes that have joined during the search are refused like later ones
		g.alone = true
	}
}
