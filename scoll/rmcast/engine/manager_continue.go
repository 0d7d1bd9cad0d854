package engine

import (
	"slices"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Where there are several managers, an epoch has one electorate. It is that of the list from which the manager continues the group, or begins with the first
// list that all members have. From then on it changes only when all members have a later list, see adopt. If a manager that
// has a group counted the members of another list as well, most of both together might be few of those of that list: another
// manager might hear most of these, and continue it (split brain).

// competes reports whether either the present group or the list b goes on, but not both together. That may be so only where
// there are several managers, in two cases. Either the group has several members, all of which have had one of its lists: then
// another manager could continue it without a member that messages may wait for. Or only one node backs b, and the group has a
// member: if the two became one, that node would be the only voter, and the group would wait for it; so the group goes on, see
// choose. Otherwise the members of the group are like nodes that have joined during the search: they join the members of b,
// and have no vote.
func (g *Manager) competes(b *ballot) bool {
	several := len(g.base.ids)+len(g.base.before)+len(g.leavers) > 1 || g.outside(b) <= 1 && slices.ContainsFunc(g.members, func(m *managed) bool { return m.listed })
	return len(g.cfg.Managers) > 1 && several
}

// outside returns how many members back the list b, without those of the present group. Hardly any earlier list names these:
// a node that lies does so to make its list look larger, and carries takes them for backers.
func (g *Manager) outside(b *ballot) int {
	n := b.backers
	for _, m := range b.members {
		if g.find(m.ID) != nil {
			n--
		}
	}
	return n
}

// choose decides whether this manager goes on with its group or with the list b, which most members of b back. The one of
// which more members are heard stays, and the members of the other one join it as new members. If that is b, this manager
// is elected anew, with a later epoch: it asks the members of both. A list that one node backs never replaces a group. A
// manager that does not hear a majority of its group expels no member of b: neither list goes on, and it asks again later.
func (g *Manager) choose(b *ballot) {
	probes, backers := g.collect.probes, g.outside(b)
	if backers > max(g.hears(noMember), 1) {
		g.resign(nid.NID{}, g.epoch)
		g.standby.list = wire.Order{Members: g.standby.list.Members}
		g.standby.add(probes)
		g.elect()
		return
	}
	g.collect.end()
	// Soon, as a member of either list that is heard then may decide it, see weigh; but not at once, as one node may have another
	// list in each of many incarnations.
	g.collect.againAt = g.now + g.cfg.Takeover
	if len(g.base.ids) > 0 && !g.hearsMost(noMember) {
		return
	}
	if backers == b.backers {
		g.collect.smaller, g.collect.smallerMembers = b.version, b.members
	}
	for _, p := range probes {
		if p.answered {
			g.expel(p.ID)
		}
	}
}

// joinsAgain reports whether a member that is heard late is on the list that was smaller than this manager's group.
func (c *collect) joinsAgain(id wire.ID, version wire.Version) bool {
	return version.Compare(c.smaller) <= 0 && slices.ContainsFunc(c.smallerMembers, func(m wire.Member) bool { return m.ID == id })
}

// elected makes the members of the list from which this manager continues the group the electorate, as far as they count
// in majorities (votes). If a group with one manager has an electorate already, they become part of it: no other manager
// can continue either list, and a node that has a list of itself must not become the only voter of a group.
func (g *Manager) elected(b *ballot) {
	answers := g.collect.answers()
	if len(g.cfg.Managers) > 1 || len(g.base.ids) == 0 {
		g.base = electorate{ids: make(map[wire.ID]bool, len(b.members)), before: g.votersOf(b, answers)}
	}
	if !g.version.IsValid() && b.usable && g.standby.list.Version.Compare(b.version) <= 0 { // all members know of those left behind before
		g.forgive()
	}
	for _, m := range b.members {
		if g.votes(m.ID, answers[m.ID]) {
			g.base.ids[m.ID] = true
		}
	}
}

// votersOf returns the members whose majority is needed besides that of a list from which this manager continues: if no
// member has said that all had the list, these are its voters, as far as they count, and those that it left behind.
func (g *Manager) votersOf(b *ballot, answers map[wire.ID]*probe) map[wire.ID]bool {
	if b.usable || b.of == 0 {
		return nil
	}
	before := make(map[wire.ID]bool, b.of)
	for _, m := range b.members {
		if m.Number < b.voters && g.votes(m.ID, answers[m.ID]) {
			before[m.ID] = true
		}
	}
	for _, id := range b.silentVoters() {
		if g.votes(id, answers[id]) {
			before[id] = true
		}
	}
	return before
}
