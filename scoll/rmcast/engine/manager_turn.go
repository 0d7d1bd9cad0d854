package engine

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// waiting is what a manager knows while another one is at work.
type waiting struct {
	manager nid.NID // zero: none was heard
	ruled   uint64  // its epoch
	epoch   uint64  // the highest of a manager that said so itself
	hearsay uint64  // the highest that members told
	heardAt time.Duration
	joinAt  time.Duration // when a node wanted to join; 0: none did
	askedAt time.Duration // for the list of the manager at work
	version wire.Version  // of the latest list that a manager told; members may have been told by others
	members []wire.Member
	gone    []wire.ID
	silent  int // so many of gone, the last ones
	next    uint32
}

// begin waits for others, if there are any.
func (g *Manager) begin() {
	g.standby.heardAt = g.now
	if len(g.cfg.Managers) < 2 {
		g.elect()
	}
}

// turnAt is when it is this manager's turn: later ones wait for longer.
func (g *Manager) turnAt() time.Duration {
	place := 0
	for _, id := range g.cfg.Managers {
		if id == g.cfg.Self {
			break
		}
		if !g.dead[id] {
			place++
		}
	}
	switch {
	case g.standby.manager.IsValid() && g.dead[g.standby.manager]:
		return g.standby.heardAt + g.cfg.Heartbeat/2 + time.Duration(place)*g.cfg.Takeover
	case g.standby.manager.IsValid():
		return g.standby.heardAt + time.Duration(1+place)*g.cfg.Takeover
	}
	return g.standby.heardAt + 2*g.cfg.Heartbeat + time.Duration(place)*g.cfg.Takeover
}

// turnWake is when a manager that waits its turn has something to do.
func (g *Manager) turnWake() time.Duration {
	if len(g.collect.probes) > 0 {
		return g.collect.by
	}
	return g.turnAt()
}

// takeTurn takes over when it is this manager's turn. If there are members of another one,
// it asks them first, and takes over when most allow it.
func (g *Manager) takeTurn() {
	switch {
	case len(g.collect.probes) > 0:
		g.tally()
	case g.turnAt() > g.now:
	case len(g.standby.members) == 0:
		g.elect()
	default:
		g.stats.Canvasses++
		for _, m := range g.standby.members {
			g.ask(m, wire.MaxMembers)
		}
		g.tally()
	}
}

// tally counts the members that allow this manager to take over.
func (g *Manager) tally() {
	c, w := &g.collect, &g.standby
	open := slices.ContainsFunc(c.probes, func(p *probe) bool { return !p.answered && !g.ended(p.ID) })
	switch {
	case g.expires():
		g.unbacked()
	case g.backed() != nil:
		for _, p := range c.probes {
			if !slices.ContainsFunc(w.members, func(m wire.Member) bool { return m.ID == p.ID }) {
				w.members = append(w.members, p.Member)
			}
		}
		g.elect()
	case !open || c.by <= g.now:
		g.unbacked()
	}
}

// ownEpoch returns the lowest epoch from one on that is this manager's: as each manager has
// epochs of its own (their remainder is its place among the managers), no two lists that
// managers make apart from each other have one version.
func (g *Manager) ownEpoch(least uint64) uint64 {
	place, n := uint64(max(slices.Index(g.cfg.Managers, g.cfg.Self), 0)), uint64(len(g.cfg.Managers))
	return least + (place+n-least%n)%n
}

// elect begins to manage: above all epochs that were heard of, and with what the
// members know.
func (g *Manager) elect() {
	w := &g.standby
	w.epoch = max(w.epoch, w.hearsay)
	g.role, g.epoch = active, g.ownEpoch(max(g.cfg.Incarnation, w.epoch+1))
	g.version, g.usable, g.free = wire.Version{Epoch: g.epoch}, wire.Version{}, wire.Version{}
	g.members, g.leavers, g.departed, g.claims, g.changed, g.base = nil, nil, nil, nil, false, electorate{}
	g.latest = wire.Order{}
	if g.next = max(w.next, 1); g.next > maxNumber {
		g.next = 1 // what members know counts
	}
	for i, id := range w.gone {
		g.departed = append(g.departed, departure{id, g.version, i >= len(w.gone)-w.silent})
	}
	g.out.emit(Effect{Kind: Elected, Version: g.version})
	g.collect = collect{}
	for _, m := range w.members {
		g.ask(m, wire.MaxMembers) // all that were there said so
	}
	g.tellRivals(false)
}

// resign leaves the group to another manager.
func (g *Manager) resign(to nid.NID, epoch uint64) {
	w := &g.standby
	if g.role == active {
		g.out.emit(Effect{Kind: Resigned, To: to})
		if g.version.IsValid() {
			o := g.list()
			w.version, w.members, w.gone, w.silent, w.next = g.version, o.Members, o.Departed, int(o.Silent), g.next
		}
		g.role, g.collect = standby, collect{}
		g.members, g.leavers, g.departed, g.changed, g.base = nil, nil, nil, false, electorate{}
	} else if to.IsValid() {
		g.collect.end()
	}
	if to.IsValid() {
		g.setAlone(false)
	}
	w.manager, w.ruled, w.heardAt = to, epoch, g.now
	w.epoch = max(w.epoch, epoch)
}

// waits takes what a member says to a manager that waits its turn.
func (g *Manager) waits(from nid.NID, o *wire.Order) {
	w := &g.standby
	w.hearsay = max(w.hearsay, o.Epoch)
	switch o.Kind {
	case wire.OrderKnown:
		g.known(from, o)
		return
	case wire.OrderJoin:
		g.spoke(from, o.Incarnation)
		delete(g.dead, from)
		w.joinAt = g.now
	case wire.OrderReport:
		g.spoke(from, o.Incarnation)
		m := wire.Member{ID: wire.ID{NID: from, Incarnation: o.Incarnation}}
		if o.Version.IsValid() && len(w.members) < g.cfg.Members && !slices.ContainsFunc(w.members, func(e wire.Member) bool { return e.ID == m.ID }) {
			w.members = append(w.members, m)
		}
	}
	if g.alone {
		g.deny(from, o, wire.RefusedQuorum)
	}
}

// rival takes what another manager says: of two that manage, the one that most members hear
// stays, or the later one.
func (g *Manager) rival(from nid.NID, o *wire.Order) {
	switch {
	case !slices.Contains(g.cfg.Managers, from):
		g.stats.Malformed++
		return
	case g.wall.isAhead(o.Epoch, g.now):
		g.stats.Ahead++
		o.Flags = wire.OrderReplica
		g.refuse(from, o, wire.RefusedAhead)
		return
	case !o.Agrees():
		g.stats.Malformed++
		return
	}
	delete(g.dead, from) // whatever was said
	if g.role == active {
		g.contend(from, o)
	} else {
		g.follow(from, o)
	}
}

// contend decides which of two managers stays.
func (g *Manager) contend(from nid.NID, o *wire.Order) {
	manages := o.Version.IsValid() // otherwise it asks members yet
	switch {
	case o.Epoch < g.epoch && manages && !g.version.IsValid() && len(g.collect.probes) == 0:
		g.resign(from, o.Epoch) // this one has no members
		g.learn(o)
	case o.Epoch < g.epoch:
		g.tellRivals(true)
	case o.Epoch == g.epoch:
		if slices.Index(g.cfg.Managers, from) > slices.Index(g.cfg.Managers, g.cfg.Self) {
			g.resign(nid.NID{}, g.epoch) // members may follow either: neither keeps it
			g.again()
			return
		}
		g.resign(from, o.Epoch)
		g.learn(o)
	case !manages && g.version.IsValid():
		// The members decide whether it takes over: they do not while they hear this one.
	case g.version.IsValid() && int(o.Of) < g.hears(nobody):
		heard := g.hears(nobody)
		g.resign(nid.NID{}, o.Epoch)
		g.again() // later than that one, if most members allow it
		g.collect.heard = heard
	default:
		g.resign(from, o.Epoch)
		g.learn(o)
	}
}

// again takes over at once.
func (g *Manager) again() {
	if len(g.standby.members) == 0 {
		g.elect()
		return
	}
	g.standby.heardAt = -g.cfg.Takeover * time.Duration(2+len(g.cfg.Managers))
	g.takeTurn()
}

// follow takes the word of the manager at work, or of one that would be.
func (g *Manager) follow(from nid.NID, o *wire.Order) {
	w := &g.standby
	late := g.now-w.heardAt >= g.cfg.Takeover
	switch {
	case len(g.collect.probes) > 0 && int(o.Of) < g.collect.heard:
		return // it is to follow this one
	case w.manager.IsValid() && from != w.manager && o.Epoch < w.ruled && !late:
		return
	case !o.Version.IsValid() && w.manager.IsValid() && from != w.manager && !late:
		return // it only wants to
	}
	g.resign(from, o.Epoch)
	g.learn(o)
	if o.Kind == wire.OrderState && o.Version.IsValid() && o.Version != w.version && w.askedAt+g.cfg.Heartbeat <= g.now {
		w.askedAt = g.now
		s := wire.Order{Kind: wire.OrderState, Flags: wire.OrderReplica, Group: g.cfg.Group}
		g.out.order(from, &s) // of an epoch that is over: it answers with its list
	}
}

// learn keeps the list of the manager at work.
func (g *Manager) learn(o *wire.Order) {
	if w := &g.standby; o.Kind == wire.OrderList {
		w.version, w.members, w.gone, w.silent, w.next = o.Version, o.Members, o.Departed, int(o.Silent), o.Next
	}
}
