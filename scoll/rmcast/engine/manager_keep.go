package engine

import (
	"time"

	"ulnet/lnet/machine"
	"ulnet/scoll/rmcast/wire"
)

// A member may send under an old list, because one of its messages waits for acknowledgements or because it lies.
// All members keep the lists from the oldest one in use on (RM-A7), and new lists name the members that have
// departed since. So with each change of the group such a member makes memory grow, until there is no room for
// further nodes. While the group changes often, the manager leaves such a member behind, as it does with one that
// does not acknowledge lists.

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
