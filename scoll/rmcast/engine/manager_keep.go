package engine

import (
	"time"

	"ulnet/lnet/machine"
	"ulnet/scoll/rmcast/wire"
)

// Members keep all lists from the oldest one on under which any of them sends (RM-A7), and new lists name the
// members that have departed since. So a member that stays under an old list, because one of its messages waits
// or because it lies, makes memory grow with each change of the group, until there is no room for further nodes.
// While the group changes much, such a member is left behind as one that does not acknowledge lists is.

// maxKept is how many lists may follow the oldest one that a member uses, for longer than MemberTimeout.
const maxKept = 64

// uses records the oldest list under which a member may send. A member that has joined this manager has used
// no list from before its first one, whatever it reports.
func (m *managed) uses(oldest wire.Version) {
	if m.oldest = oldest; oldest.Compare(m.first) < 0 {
		m.oldest = m.first
	}
}

// keeps returns how many lists of this manager followed the oldest one that a member uses.
func (g *Manager) keeps(m *managed) uint64 {
	if m.oldest.Epoch < g.epoch {
		return g.version.Counter
	}
	return g.version.Counter - min(m.oldest.Counter, g.version.Counter)
}

// noteKeeping records until when members have kept few lists. In a small group, fewer than maxKept lists name so
// many former members that there is no room for further nodes: then none may be kept.
func (g *Manager) noteKeeping() {
	crowded := len(g.members) < g.cfg.Members && g.crowded()
	for m := range g.all() {
		if g.keeps(m) <= maxKept && !(crowded && m.oldest.Compare(g.usable) < 0) {
			m.fewAt = g.now
		}
	}
}

// pace returns when the next list may be published that is not about a failure. Lists can follow each other once in
// a round trip. So while a member keeps many of them, at most one is published per Heartbeat. Nodes that join wait for
// it, and what is kept within MemberTimeout has a bound, however often nodes start again.
// A node that waits for its first list keeps none.
func (g *Manager) pace() time.Duration {
	for m := range g.all() {
		if m.listed && g.keeps(m) > maxKept {
			return g.publishedAt + g.cfg.Heartbeat
		}
	}
	return -machine.Never
}

// crowded reports whether a list with one more member might not fit, if all departed members were on it.
func (g *Manager) crowded() bool {
	return len(g.members)+len(g.leavers)+len(g.departed) >= min(2*g.cfg.Members, wire.MaxMembers)
}
