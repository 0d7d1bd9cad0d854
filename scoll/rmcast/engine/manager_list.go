package engine

import (
	"slices"

	"ulnet/scoll/rmcast/wire"
)

// settle makes a version usable once all members have its list. Then it publishes the changes
// that waited for that, and drops versions that no member uses (RM-A7, RM-A9).
func (g *Manager) settle() {
	tell := false
	all := !slices.ContainsFunc(g.members, func(m *managed) bool { return m.listed && m.known != g.version })
	if all && g.usable != g.version && g.version.IsValid() {
		g.usable, tell = g.version, true
		g.adopt()
		if g.dropKeepers(true) {
			return
		}
	}
	if g.changed && all && len(g.collect.probes) == 0 && g.pace() <= g.now {
		g.publish(true)
		return
	}
	if g.freeUp() || tell {
		for m := range g.all() {
			g.sendState(m)
		}
		g.leavers = slices.DeleteFunc(g.leavers, func(m *managed) bool { return m.last.Compare(g.free) < 0 })
	}
}

// freeUp sets g.free to the version below which no member sends any more, and drops departed members that are only on
// earlier lists. It reports whether g.free has risen.
func (g *Manager) freeUp() bool {
	if len(g.collect.probes) > 0 {
		return false // there may be members that use older versions
	}
	free := g.usable
	for m := range g.all() {
		if m.listed && m.oldest.Compare(free) < 0 {
			free = m.oldest
		}
	}
	if free.Compare(g.free) <= 0 {
		return false
	}
	g.free = free
	g.departed = slices.DeleteFunc(g.departed, func(d departure) bool { return d.last.Compare(free) < 0 })
	return true
}

// publish sends the members a list with a new version. If joins is true, the list has all members. Otherwise it is a
// list about a failure, and leaves out the members that wait for their first list. Such a list is published at once,
// but nodes that join must wait until the list before is usable, and for pace.
func (g *Manager) publish(joins bool) {
	if g.role != active {
		return
	}
	before := g.version
	g.version = wire.Version{Epoch: g.epoch, Counter: g.version.Counter + 1}
	g.moves, g.changed = 0, false
	if joins {
		g.changedAt = g.now
		g.enlist()
	} else {
		g.changed = slices.ContainsFunc(g.members, func(m *managed) bool { return !m.listed })
	}
	g.latest = g.list()
	g.lists = g.latest.AppendLists(nil)
	g.stats.Lists++
	g.out.emit(Effect{Kind: Changed, Version: g.version})
	for m := range g.all() {
		if !m.listed {
			continue
		}
		if m.tries = 0; m.known.Compare(before) >= 0 || m.behindAt == 0 {
			m.behindAt = g.now
		}
		g.sendList(m)
	}
	g.tellRivals(true)
}

// enlist puts the members that wait for their first list on the list that is about to be published.
func (g *Manager) enlist() {
	for m := range g.all() {
		if m.listed {
			continue
		}
		m.listed, m.since, m.listedAt, m.fewAt = true, g.version, g.now, g.now
		if !m.known.IsValid() {
			m.first, m.oldest = g.version, g.version
		}
	}
}

// remind resends lists that were not acknowledged.
func (g *Manager) remind() {
	for m := range g.all() {
		if m.listed && m.known != g.version && m.sentAt+g.patience(m) <= g.now {
			m.tries = min(m.tries+1, maxBackoff)
			g.stats.Resent++
			g.sendList(m)
		}
	}
	if g.beatAt <= g.now {
		g.tellRivals(false)
	}
}

// fail declares members failed. silent says that they were silent, as opposed to known to have
// ended. If a list contains them, the next list is published at once, because other members
// wait for it.
func (g *Manager) fail(silent bool, which func(*managed) bool) {
	failed := false
	for _, list := range [...]*[]*managed{&g.members, &g.leavers} {
		*list = slices.DeleteFunc(*list, func(m *managed) bool {
			if !which(m) {
				return false
			}
			g.stats.Failures++
			if !silent {
				g.base.remove(m.ID)
			}
			if m.listed {
				g.departed = append(g.departed, departure{id: m.ID, last: g.version, silent: silent})
				failed = true
			}
			g.expel(m.ID)
			return true
		})
	}
	if failed {
		g.publish(false)
	}
}
