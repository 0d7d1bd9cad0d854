package engine

import (
	"cmp"
	"slices"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// join adds a member (RM-14). It ends other incarnations on the same node (RM-A8): all earlier
// ones, and later ones that have been silent for a while, which exist if the node's clock was
// set back.
func (g *Manager) join(from nid.NID, o *wire.Order) {
	id := wire.ID{NID: from, Incarnation: o.Incarnation}
	if m := g.find(id); m != nil {
		g.rejoins(m)
		return
	}
	for m := range g.all() {
		if m.NID == from && m.Incarnation > o.Incarnation && (g.wasPaused() || g.silence(m) < g.cfg.Takeover) {
			return // the message is from an earlier incarnation
		}
	}
	if g.isDeparted(id) || g.collect.probe(id) != nil {
		g.expel(id) // the ID is that of a former member, or of one that other members name
		return
	}
	delete(g.dead, from)
	g.spoke(from, o.Incarnation)
	g.fail(false, func(m *managed) bool { return m.NID == from })
	if g.alone && g.noneLeft() {
		g.alone = false
	}
	switch {
	case g.alone:
		g.deny(from, o, wire.RefusedQuorum)
		return
	case g.cfg.tooShort(o):
		g.stats.Limits++
		g.refuse(from, o, wire.RefusedLimits)
		return
	case !g.mayJoin(from):
		return
	case !g.room(from):
		g.stats.Full++
		g.refuse(from, o, wire.RefusedFull)
		return
	}
	g.stats.Joins++
	m := &managed{Member: wire.Member{ID: id, Number: g.next}, heardAt: g.now}
	m.limits(&g.cfg, o)
	g.add(m)
	g.next++
}

// noneLeft reports whether a manager without a list has not heard for a while of any node that knows a list: the
// members that it has asked, in vain, have left since.
func (g *Manager) noneLeft() bool {
	return !g.version.IsValid() && len(g.collect.probes) == 0 && !g.wasPaused() && g.now-max(g.reportAt, g.patientAt) >= g.cfg.Takeover
}

// rejoins handles a request to join with the ID of a member. If the member has not had a list yet, the list or its
// acknowledgement was lost. Otherwise the request is late, or the node has a new member with the same ID, which
// begins to number its messages anew: others would take them for copies of earlier ones and acknowledge them
// without delivering them (RM-2). A late request is followed by a report. A new member sends more requests: it gets no
// list, and is expelled, so that it joins with another ID.
func (g *Manager) rejoins(m *managed) {
	switch {
	case !m.known.IsValid():
		m.heardAt = g.now
		g.sendListAgain(m)
	case m.rejoinsAt == 0 || g.wasPaused():
		m.rejoinsAt = g.now
	case g.now-max(m.rejoinsAt, g.patientAt) >= g.cfg.Takeover/2:
		g.expel(m.ID)
	}
}

// room reports whether a member on the node id may join: lists have room for one more member, even if they name all
// departed members, or the node may join without such room, see returns. Members that are being asked take up room.
func (g *Manager) room(id nid.NID) bool {
	return g.next != 0 && len(g.members)+g.asked() < g.cfg.Members && (!g.crowded() || g.returns(id))
}

// makeRoom takes nodes that joined before the end of a search off the next list if there are more members now than the
// group may have: first those that have had no list yet, whose numbers are the highest, and which go on asking to join. One
// that has had a list joins again. Others may have messages that wait for it, so it counts as left behind.
func (g *Manager) makeRoom(joined []*managed) {
	for _, m := range slices.Backward(joined) {
		if len(g.members) <= g.cfg.Members {
			return
		}
		g.members = slices.DeleteFunc(g.members, func(x *managed) bool { return x == m })
		if g.stats.Full++; m.listed {
			g.departs(m.ID, true)
			g.expel(m.ID)
		}
	}
}

// add puts a member on the manager's next list.
func (g *Manager) add(m *managed) {
	g.members = append(g.members, m)
	slices.SortFunc(g.members, byNumber)
	g.changed = true
}

func byNumber(a, b *managed) int { return cmp.Compare(a.Number, b.Number) }
