package engine

import (
	"maps"
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Split brain: in a partitioned network two managers could each continue with a part of the
// group and leave the other's members behind. So a manager leaves members behind only while it
// hears a majority of the electorate. The electorate is the latest list that all its members
// had, without the members that are known to have ended. Two majorities of one electorate have
// a member in common, and that member obeys one manager only.

// electorate is the set of members that count in a manager's majorities. A new manager may continue from a list of which
// it does not know whether all members had it. If they had, another manager needs a majority of that list; if not, a
// majority of the electorate before. So until all members have a list of the new manager, it needs both majorities (joint
// consensus), and its lists name the voters before.
type electorate struct {
	ids    map[wire.ID]bool // members of the latest list that all its members had, without those that have ended
	before map[wire.ID]bool // the electorate before, if a majority of it is needed as well; otherwise nil
	next   uint32           // number above those of all voters
}

// voters returns the members that the next manager needs a majority of if not all members have the latest list.
func (e *electorate) voters() map[wire.ID]bool {
	if e.before != nil {
		return e.before
	}
	return e.ids
}

// remove takes out a member that has ended or leaves.
func (e *electorate) remove(id wire.ID) {
	delete(e.ids, id)
	delete(e.before, id)
}

// names reports whether a member on a node counts.
func (e *electorate) names(id nid.NID) bool {
	for _, set := range [...]map[wire.ID]bool{e.ids, e.before} {
		for m := range set { // any order: one is enough
			if m.NID == id {
				return true
			}
		}
	}
	return false
}

// adopt makes the members of the latest list the electorate. All of them have the list, so they
// know which members were left behind before.
func (g *Manager) adopt() {
	g.base = electorate{ids: make(map[wire.ID]bool, len(g.members))}
	for _, m := range g.members {
		if m.listed {
			g.base.ids[m.ID], g.base.next = true, m.Number+1 // members are in the order of their numbers; those that are not listed have higher ones
		}
	}
	g.forgive()
}

// forgive is called when all members have a list without those that were left behind: these count no longer in majorities,
// because no member can continue with them from a list before.
func (g *Manager) forgive() {
	for i := range g.departed {
		g.departed[i].silent = false
	}
}

// separate gives all members that are no voters new numbers, above those of all voters. A node that has joined during a
// search may have a lower number, by which it would count as a voter when the next manager is elected.
func (g *Manager) separate() {
	g.base.next = g.next
	voters := g.base.voters()
	for _, m := range g.members {
		if !voters[m.ID] {
			m.Number = g.next
			g.next++
		}
	}
	slices.SortFunc(g.members, byNumber)
}

// spoke records the incarnation of a node that its latest message names: lower ones have ended. It can be below the
// one recorded before, if the node's clock was set back: then the higher one has ended, and this one is alive. If a
// message of an earlier incarnation is late, messages wait for that incarnation until the node sends its next message,
// which is safe.
func (g *Manager) spoke(from nid.NID, incarnation uint64) {
	if len(g.incarnations) < 4*g.cfg.Members || g.incarnations[from] > 0 {
		g.incarnations[from] = incarnation
	}
	g.begins(wire.ID{NID: from, Incarnation: incarnation})
}

// ended reports whether a member is known to have ended: by discovery, by an administrator, or
// by the latest message of its node, which names a higher incarnation.
func (g *Manager) ended(id wire.ID) bool {
	return g.dead[id.NID] || g.incarnations[id.NID] > id.Incarnation
}

// silence returns for how long a member was not heard. It excludes times in which this manager
// did not run or heard too few members.
func (g *Manager) silence(m *managed) time.Duration { return g.now - max(m.heardAt, g.patientAt) }

// hears counts the members of the electorate that were heard within Takeover, except those for
// which without is true.
func (g *Manager) hears(without func(*managed) bool) int { return g.hearsOf(g.base.ids, without) }

func (g *Manager) hearsOf(set map[wire.ID]bool, without func(*managed) bool) (n int) {
	for _, m := range g.members {
		if g.silence(m) < g.cfg.Takeover && !without(m) && set[m.ID] {
			n++
		}
	}
	return n
}

// hearsMost reports whether the members that hears counts are a majority.
func (g *Manager) hearsMost(without func(*managed) bool) bool {
	e := &g.base
	return 2*g.hears(without) > len(e.ids) && (len(e.before) == 0 || 2*g.hearsOf(e.before, without) > len(e.before))
}

func noMember(*managed) bool { return false }

// wasPaused reports whether this process was stopped for a while before this step. The manager then cannot tell
// yet which members were silent: their reports of that time may come after the input of this step.
func (g *Manager) wasPaused() bool { return g.now-g.watchAt >= g.cfg.Takeover/2 }

// watch checks for silent members once per Heartbeat.
func (g *Manager) watch() {
	if g.role != active || g.watchAt > g.now {
		return
	}
	if g.wasPaused() {
		g.patientAt = g.now
	}
	g.watchAt = g.now + g.cfg.Heartbeat
	if !g.version.IsValid() {
		return
	}
	g.weigh()
	g.dropUnacknowledged()
	g.dropLeavers()
	if g.cfg.MemberTimeout > 0 && !g.alone {
		g.dropSilent()
	}
	g.dropKeepers(false)
}

// discount takes members that were left behind out of the electorate when they are known to have ended, as when their
// node has joined again. Lists go on calling such a member silent unless its node has died: if only its membership has
// ended, its process goes on, and lacks the messages that waited for it. If a node has died, members that lack the latest
// list get one that says so.
func (g *Manager) discount() {
	died := false
	for i := range g.departed {
		if d := &g.departed[i]; d.silent && g.ended(d.id) {
			d.silent = !g.dead[d.id.NID]
			died = died || !d.silent
			g.base.remove(d.id)
		}
	}
	if died {
		g.publish(false)
	}
}

// weigh checks whether a majority of the electorate is heard.
func (g *Manager) weigh() {
	g.discount()
	before := g.alone
	g.alone = len(g.base.ids) > 0 && !g.hearsMost(noMember)
	if before && !g.alone {
		g.patientAt = g.now
		g.collect.againAt = 0
	}
}

// tellAlone tells the user when this manager begins or ceases to hear too few members to change the group, or to be
// elected. While a manager without a list searches, that is not known yet.
func (g *Manager) tellAlone() {
	if g.alone == g.toldAlone || g.role == active && !g.version.IsValid() && len(g.collect.probes) > 0 {
		return
	}
	g.toldAlone = g.alone
	e := Effect{Kind: Quorum}
	if g.alone {
		g.stats.Alone++
		e.Why = ErrQuorum
	}
	g.out.emit(e)
}

// dropSilent leaves behind the members that for MemberTimeout have not reported or have not acknowledged a list. It does
// so only if the members that it hears besides them are a majority of the electorate. Members left behind may be alive,
// and messages in flight are reported as not delivered to them.
func (g *Manager) dropSilent() {
	since := g.now - g.cfg.MemberTimeout
	late := func(m *managed) bool {
		return m.listed && g.patientAt <= since && (m.heardAt <= since || m.known != g.version && m.behindAt <= since)
	}
	if !slices.ContainsFunc(g.members, late) || !g.hearsMost(late) {
		return
	}
	for _, m := range g.members {
		if late(m) {
			g.stats.Silent++
		}
	}
	g.fail(true, late)
}

// dropUnacknowledged removes members that have never acknowledged a list, so that they do not
// keep it from becoming usable. No member has sent to them yet. They must wait before they can
// join again, longer each time.
func (g *Manager) dropUnacknowledged() {
	late := func(m *managed) bool {
		return m.listed && m.known.Compare(m.since) < 0 && g.now-max(m.listedAt, g.patientAt) >= g.cfg.FirstAck && !g.base.ids[m.ID]
	}
	if !slices.ContainsFunc(g.members, late) {
		return
	}
	for _, m := range g.members {
		if late(m) {
			g.stats.Unacknowledged++
			g.delay(m.NID)
		}
	}
	g.fail(false, late)
}

// dropLeavers counts leaving members as ended that are not heard any more after LeaveAfter. A leaving member that is heard
// is alive and may lack messages, so these wait for it: its own LeaveAfter bounds how long. But if it uses too old a list
// for MemberTimeout, dropLeavers leaves it behind, as dropKeepers does with members; no majority depends on it.
func (g *Manager) dropLeavers() {
	late := func(m *managed) bool { return m.leaveBy > 0 && m.leaveBy <= g.now && !g.alone }
	gone := func(m *managed) bool { return late(m) && g.silence(m) >= g.cfg.Takeover }
	keeps := func(m *managed) bool {
		return late(m) && g.cfg.MemberTimeout > 0 && g.now-max(m.fewAt, g.patientAt) >= g.cfg.MemberTimeout
	}
	if slices.ContainsFunc(g.leavers, gone) {
		g.fail(false, gone)
	}
	for _, m := range g.leavers {
		if keeps(m) {
			g.stats.Silent++
		}
	}
	if slices.ContainsFunc(g.leavers, keeps) {
		g.fail(true, keeps)
	}
}

// delayed is how long a node must wait until it may join.
type delayed struct {
	until time.Duration
	times int
}

// delay makes a node wait for a second, doubled each time up to a minute.
func (g *Manager) delay(id nid.NID) {
	if d, ok := g.delays[id]; ok || len(g.delays) < g.cfg.Members {
		g.delays[id] = delayed{g.now + min(time.Second<<min(d.times, 6), time.Minute), d.times + 1}
	}
}

// mayJoin reports whether a node may join now, because it has waited long enough.
func (g *Manager) mayJoin(id nid.NID) bool { return g.delays[id].until <= g.now }

// watchWake returns when watch is due. A manager without a list, too, watches while it is alone: noneLeft counts no time in
// which this process was stopped.
func (g *Manager) watchWake() time.Duration {
	if g.version.IsValid() || g.alone {
		return g.watchAt
	}
	return machine.Never
}

// expelled handles the statement of an administrator that the members on a node have ended. It
// takes effect even while the group has no manager, because such a member may be the reason why
// there is none.
func (g *Manager) expelled(id nid.NID) {
	g.dead[id] = true
	if g.role != active {
		return
	}
	g.fail(false, func(m *managed) bool { return m.NID == id })
	on := func(m wire.ID, _ bool) bool { return m.NID == id }
	maps.DeleteFunc(g.base.ids, on)
	maps.DeleteFunc(g.base.before, on)
}
