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
// does not acknowledge lists. But one member whose acknowledgements are lost makes the messages of all others wait:
// so most members can be such, and these are left behind some after others.

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
	for _, m := range g.members {
		if g.keeps(m) <= maxKept && !(crowded && m.oldest.Compare(g.usable) < 0) {
			m.fewAt = g.now
		}
	}
}

// dropKeepers leaves behind members that keep old lists in use, see keepers, as many at once as a majority of the
// electorate remains without. The others follow when all have the list without the first ones. An electorate of two has
// no majority without one of them: so that member is told to end its membership itself, and joins again. dropKeepers
// reports whether it has published a list.
func (g *Manager) dropKeepers() bool {
	g.noteKeeping()
	keepers, spare := g.keepers(), g.spare()
	switch {
	case len(keepers) == 0 || g.usable != g.version || g.alone || g.cfg.MemberTimeout <= 0:
	case spare > 0:
		drop := keepers[:min(spare, len(keepers))]
		g.stats.Silent += uint64(len(drop))
		g.fail(true, func(m *managed) bool { return slices.Contains(drop, m) })
		g.readmit(drop)
		return true
	case spare == 0 && len(g.base.ids) <= 2:
		g.expel(keepers[0].ID)
	}
	return false
}

// keepers returns the members that have used a list that is too old for MemberTimeout, see noteKeeping: those with the
// oldest list, because of which all members keep the lists since.
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

// spare returns how many members may be left behind at once, so that a majority of the electorate remains even if the
// members that were not heard for two Heartbeats have died.
func (g *Manager) spare() int {
	heard := 0
	for _, m := range g.members {
		if g.base.ids[m.ID] && g.silence(m) < 2*g.cfg.Heartbeat {
			heard++
		}
	}
	return heard - len(g.base.ids)/2 - 1
}

// readmit lets the nodes of keepers that were left behind join again once, even if there is no room for further nodes.
// There is no room before the last keeper has been left behind. Until then the group would shrink, in the end to two
// members, so that a member that lies could stay.
func (g *Manager) readmit(keepers []*managed) {
	for i := range g.departed {
		if slices.ContainsFunc(keepers, func(m *managed) bool { return m.ID == g.departed[i].id }) {
			g.departed[i].again = true
		}
	}
}

// returns reports whether a node may join although there is no room for further nodes, see readmit. It may do so once.
func (g *Manager) returns(id nid.NID) bool {
	i := slices.IndexFunc(g.departed, func(d departure) bool { return d.again && d.id.NID == id })
	if i < 0 || len(g.members)+len(g.leavers)+len(g.departed) >= wire.MaxMembers {
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

// crowded reports whether a list that names all members, all departed ones and one more might be too long.
func (g *Manager) crowded() bool {
	return len(g.members)+len(g.leavers)+len(g.departed) >= min(2*g.cfg.Members, wire.MaxMembers)
}
