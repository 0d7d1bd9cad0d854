package engine

import (
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// A member may send under an old list, because one of its messages waits for acknowledgements or because it lies.
// All members keep the lists from the oldest one in use on (RM-A7), and new lists name the members that have
// departed since. So with each change of the group such a member makes memory grow, until there is no room for
// further nodes. While the group changes often, the manager leaves such a member behind, as it does with one that
// does not acknowledge lists. If the acknowledgements of one member are lost, the messages of all others wait, and
// most members may send under an old list. The manager then leaves them behind in steps, a few at a time, so that a
// majority of the members remains in each step.

// maxKept is how many lists may follow the oldest one that a member uses. A member that exceeds this for
// MemberTimeout is left behind.
const maxKept = 64

// uses records the oldest list under which a member may send. A member that has joined this manager cannot use a
// list that is older than its first one, even if it reports that it does.
func (m *managed) uses(oldest wire.Version) {
	if m.oldest = oldest; oldest.Compare(m.first) < 0 {
		m.oldest = m.first
	}
}

// keeps returns how many lists of this manager have followed the oldest one that a member uses.
func (g *Manager) keeps(m *managed) uint64 {
	if m.oldest.Epoch < g.epoch {
		return g.version.Counter
	}
	return g.version.Counter - min(m.oldest.Counter, g.version.Counter)
}

// noteKeeping sets fewAt of each member that uses no list that is too old. In a small group, even fewer than
// maxKept lists can name so many departed members that there is no room for further nodes. Then a member may use
// only the newest usable list.
func (g *Manager) noteKeeping() {
	crowded := len(g.members) < g.cfg.Members && g.crowded()
	for m := range g.all() {
		if g.keeps(m) <= maxKept && !(crowded && m.oldest.Compare(g.usable) < 0) {
			m.fewAt = g.now
		}
	}
}

// dropKeepers leaves behind members that keep old lists in use, see keepers. It leaves behind at most so many that a
// majority of the electorate remains; the next ones follow when all remaining members have the new list. It does so only
// right after all members have acknowledged a list (acked), and otherwise publishes one first: a member that has just died
// does not acknowledge it, and is left behind before the keepers. In an electorate of two, no majority remains without one
// of them: dropKeepers then expels that member, which ends its membership itself and joins again. The result is whether
// dropKeepers has published a list.
func (g *Manager) dropKeepers(acked bool) bool {
	g.noteKeeping()
	keepers, spare := g.keepers(), g.spare()
	switch {
	case len(keepers) == 0 || g.usable != g.version || g.alone || g.cfg.MemberTimeout <= 0:
	case spare == 0 && len(g.base.ids) <= 2:
		g.expel(keepers[0].ID)
	case spare <= 0:
	case acked:
		drop := keepers[:min(spare, len(keepers))]
		g.stats.Silent += uint64(len(drop))
		g.fail(true, func(m *managed) bool { return slices.Contains(drop, m) })
		g.readmit(drop)
		return true
	case len(g.collect.probes) == 0 && g.pace() <= g.now:
		g.publish(true)
		return true
	}
	return false
}

// keepers returns members that have used too old a list for MemberTimeout, see noteKeeping. Of all such members it
// returns only those that use the oldest list: they are why all members keep that list and the later ones.
func (g *Manager) keepers() (list []*managed) {
	since := g.now - g.cfg.MemberTimeout
	for _, m := range g.members {
		if !m.listed || max(m.fewAt, g.patientAt) > since {
			continue
		}
		if len(list) > 0 && m.oldest.Compare(list[0].oldest) < 0 {
			list = nil
		}
		if len(list) == 0 || m.oldest == list[0].oldest {
			list = append(list, m)
		}
	}
	return list
}

// spare returns how many members the manager may leave behind at once, so that a majority of the electorate remains.
// Members that were not heard for two Heartbeats may be dead, and do not count as remaining. The result is negative if
// there is no majority even now.
func (g *Manager) spare() int {
	heard := 0
	for _, m := range g.members {
		if g.base.ids[m.ID] && g.silence(m) < 2*g.cfg.Heartbeat {
			heard++
		}
	}
	return heard - len(g.base.ids)/2 - 1
}

// readmit lets the node of each keeper that was left behind join again, once, even if there is no room for further
// nodes. There is no room until the last keeper has been left behind. Without readmit the group would shrink until
// then, in the end to two members, and a member that lies could stay in it.
func (g *Manager) readmit(keepers []*managed) {
	for i := range g.departed {
		if slices.ContainsFunc(keepers, func(m *managed) bool { return m.ID == g.departed[i].id }) {
			g.departed[i].again = true
		}
	}
}

// returns reports whether a node may join although there is no room for further nodes, see readmit. A node may do so
// once, so returns takes back the permission.
func (g *Manager) returns(id nid.NID) bool {
	i := slices.IndexFunc(g.departed, func(d departure) bool { return d.again && d.id.NID == id })
	if i < 0 || len(g.members)+len(g.leavers)+len(g.departed) >= g.most() {
		return false
	}
	g.departed[i].again = false
	return true
}

// pace returns when the manager may publish the next list that is not about a failure. Without this limit, lists
// can follow each other at intervals of one round trip. While a member uses a list that more than maxKept have
// followed, at most one list is published per Heartbeat, and nodes that join wait for it. This bounds how many
// lists there can be within MemberTimeout, however often nodes restart. A node that waits for its first list uses
// none.
func (g *Manager) pace() time.Duration {
	for m := range g.all() {
		if m.listed && g.keeps(m) > maxKept {
			return g.changedAt + g.cfg.Heartbeat
		}
	}
	return -machine.Never
}

// most returns how many members and departed members a list may name, of which at most Members are members. The buffers
// for orders have room for as many, see New of package rmcast. In general, lists name at most 2*Members, see crowded: the
// rest is room for nodes that readmit lets in.
func (g *Manager) most() int { return min(3*g.cfg.Members, wire.MaxMembers) }

// crowded reports whether there is no room for further nodes: all members, all departed ones and one more might be more
// than 2*Members.
func (g *Manager) crowded() bool {
	return len(g.members)+len(g.leavers)+len(g.departed) >= min(2*g.cfg.Members, wire.MaxMembers)
}
