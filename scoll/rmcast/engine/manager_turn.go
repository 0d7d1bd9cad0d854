package engine

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// waiting is the state of a manager on standby.
type waiting struct {
	manager nid.NID // NID of the active manager; invalid: none was heard
	ruled   uint64  // epoch of the active manager
	epoch   uint64  // highest epoch in messages of managers themselves
	hearsay uint64  // highest epoch that members have reported
	heardAt time.Duration
	joinAt  time.Duration // when a node last wanted to join; 0: never
	askedAt time.Duration // when the active manager was last asked for its list
	list    wire.Order    // the latest list that a manager sent, with members that others reported
}

// begin waits for other managers, if there are any.
func (g *Manager) begin() {
	g.standby.heardAt = g.now
	if len(g.cfg.Managers) < 2 {
		g.elect()
	}
}

// turnAt returns the time at which this manager may take over. It is later for managers of
// lower precedence.
func (g *Manager) turnAt() time.Duration {
	rank := 0
	for _, id := range g.cfg.Managers {
		if id == g.cfg.Self {
			break
		}
		if !g.dead[id] {
			rank++
		}
	}
	switch {
	case g.standby.manager.IsValid() && g.dead[g.standby.manager]:
		return g.standby.heardAt + g.cfg.Heartbeat/2 + time.Duration(rank)*g.cfg.Takeover
	case g.standby.manager.IsValid():
		return g.standby.heardAt + time.Duration(1+rank)*g.cfg.Takeover
	}
	return g.standby.heardAt + 2*g.cfg.Heartbeat + time.Duration(rank)*g.cfg.Takeover
}

// turnWake returns when a manager on standby has something to do.
func (g *Manager) turnWake() time.Duration {
	if len(g.collect.probes) > 0 {
		return g.collect.by
	}
	return g.turnAt()
}

// takeTurn takes over when it is this manager's turn. If another manager has members, takeTurn first
// holds a pre-vote among them, and takes over when more than half of them allow it.
func (g *Manager) takeTurn() {
	switch {
	case len(g.collect.probes) > 0:
		g.tally()
	case g.turnAt() > g.now:
	case len(g.standby.list.Members) == 0:
		g.elect()
	default:
		g.stats.Canvasses++
		for _, m := range g.standby.list.Members {
			g.ask(m, wire.MaxMembers)
		}
		g.tally()
	}
}

// tally counts the members that allow this manager to take over.
func (g *Manager) tally() {
	c, w := &g.collect, &g.standby
	switch {
	case g.expires():
		g.unbacked()
	case g.backed() != nil:
		w.add(c.probes)
		g.elect()
	case !g.open():
		g.unbacked()
	}
}

// add adds the probes that have answered to the members that the next search begins with. Their answers to that name the
// others again, which may be invented.
func (w *waiting) add(probes []*probe) {
	for _, p := range probes {
		if p.answered && !slices.ContainsFunc(w.list.Members, func(m wire.Member) bool { return m.ID == p.ID }) {
			w.list.Members = append(w.list.Members, wire.Member{ID: p.ID})
		}
	}
}

// reported adds a member that has reported to those that the next search begins with, in place of one that its node has
// reported before.
func (w *waiting) reported(id wire.ID, room int) {
	list := w.list.Members
	i := slices.IndexFunc(list, func(m wire.Member) bool { return m.ID == id || m.NID == id.NID && m.Number == 0 })
	switch {
	case i >= 0 && list[i].Number == 0:
		list[i].ID = id
	case i < 0 && len(list) < room:
		w.list.Members = append(list, wire.Member{ID: id})
	}
}

// ownEpoch returns the lowest epoch of this manager that is not below the parameter least. Epochs
// modulo the number of managers are the manager's index, so lists that two managers make
// independently never have the same version.
func (g *Manager) ownEpoch(least uint64) uint64 {
	index, n := uint64(max(slices.Index(g.cfg.Managers, g.cfg.Self), 0)), uint64(len(g.cfg.Managers))
	return least + (index+n-least%n)%n
}

// elect makes this manager active, with an epoch above all epochs that it has heard of, and
// asks the members what they know. It refuses no node that asks to join before the search has failed.
func (g *Manager) elect() {
	g.alone = false
	w := &g.standby
	w.epoch = max(w.epoch, w.hearsay)
	g.role, g.epoch = active, g.ownEpoch(max(g.cfg.Incarnation, w.epoch+1))
	g.version, g.usable, g.free = wire.Version{Epoch: g.epoch}, wire.Version{}, wire.Version{}
	g.members, g.leavers, g.departed, g.claims, g.changed, g.base = nil, nil, nil, nil, false, electorate{}
	g.latest, g.lists = wire.Order{}, nil
	if g.next = max(w.list.Next, 1); g.next > maxNumber {
		g.next = 1 // the answers of the members raise this number above the communication numbers that are in use
	}
	for i, id := range w.list.Departed {
		g.departed = append(g.departed, departure{id: id, last: g.version, silent: i >= len(w.list.Departed)-int(w.list.Silent)})
	}
	g.out.emit(Effect{Kind: Elected, Version: g.version})
	g.collect = collect{}
	for _, m := range w.list.Members {
		g.ask(m, wire.MaxMembers) // counts as named by all: m was listed, or reported to be a member
	}
	g.tellRivals(false)
}

// resign ends this manager's active role, in favor of another one.
func (g *Manager) resign(to nid.NID, epoch uint64) {
	w := &g.standby
	if g.role == active {
		g.out.emit(Effect{Kind: Resigned, To: to})
		if g.version.IsValid() {
			w.list = g.list()
		}
		g.role, g.collect = standby, collect{}
		g.members, g.leavers, g.departed, g.changed, g.base = nil, nil, nil, false, electorate{}
	} else if to.IsValid() {
		g.collect.end()
	}
	if to.IsValid() {
		g.alone = false
	}
	w.manager, w.ruled, w.heardAt = to, epoch, g.now
	w.epoch = max(w.epoch, epoch)
}

// waits handles a message of a member to a manager on standby.
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
		if o.Version.IsValid() {
			w.reported(wire.ID{NID: from, Incarnation: o.Incarnation}, g.cfg.Members)
		}
	}
	if g.alone {
		g.deny(from, o, wire.RefusedQuorum)
	}
}

// rival handles a message of another manager. If two managers are active, the one with the lower
// epoch resigns, unless it hears more members than the other: then the other resigns in the end,
// because the manager with more members takes over again with a higher epoch.
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
	delete(g.dead, from) // the node sends messages, so it is alive
	if g.role == active {
		g.contend(from, o)
	} else {
		g.follow(from, o)
	}
}

// contend handles an order from another manager while this one is active, and decides which of
// the two remains the manager.
func (g *Manager) contend(from nid.NID, o *wire.Order) {
	manages := o.Version.IsValid() // false: the other manager is still searching
	switch {
	case o.Epoch < g.epoch && manages && !g.version.IsValid() && len(g.collect.probes) == 0:
		g.resign(from, o.Epoch) // resign, as this manager has no members
		g.learn(o)
	case o.Epoch < g.epoch:
		g.tellRivals(true)
	case o.Epoch == g.epoch:
		if slices.Index(g.cfg.Managers, from) > slices.Index(g.cfg.Managers, g.cfg.Self) {
			g.resign(nid.NID{}, g.epoch) // members may obey either of two managers with the same epoch, so neither keeps it
			g.again()
			return
		}
		g.resign(from, o.Epoch)
		g.learn(o)
	case !manages && g.version.IsValid():
		// The members decide whether the other manager takes over; they refuse that while they hear
		// this one.
	case g.version.IsValid() && int(o.Of) < g.hears(noMember):
		heard := g.hears(noMember)
		g.resign(nid.NID{}, o.Epoch)
		g.again() // take over with an epoch above the other manager's, if more than half of the members allow it
		g.collect.heard = heard
	default:
		g.resign(from, o.Epoch)
		g.learn(o)
	}
}

// again makes this manager take over at once.
func (g *Manager) again() {
	if len(g.standby.list.Members) == 0 {
		g.elect()
		return
	}
	g.standby.heardAt = -g.cfg.Takeover * time.Duration(2+len(g.cfg.Managers))
	g.takeTurn()
}

// follow handles a message of the active manager, or of one that wants to be active.
func (g *Manager) follow(from nid.NID, o *wire.Order) {
	w := &g.standby
	late := g.now-w.heardAt >= g.cfg.Takeover
	switch {
	case len(g.collect.probes) > 0 && int(o.Of) < g.collect.heard:
		return // this manager hears more members; the other one must follow
	case w.manager.IsValid() && from != w.manager && o.Epoch < w.ruled && !late:
		return
	case !o.Version.IsValid() && w.manager.IsValid() && from != w.manager && !late:
		return // the other manager has not sent a list yet
	}
	g.resign(from, o.Epoch)
	g.learn(o)
	if o.Kind == wire.OrderState && o.Version.IsValid() && o.Version != w.list.Version && w.askedAt+g.cfg.Heartbeat <= g.now {
		w.askedAt = g.now
		s := wire.Order{Kind: wire.OrderState, Flags: wire.OrderReplica, Group: g.cfg.Group}
		g.out.order(from, &s) // the order has epoch 0, which is below the epoch of the active manager, so that manager answers with its list
	}
}

// learn keeps the list of the active manager. A member on the list may have a lower incarnation than one that this
// manager has heard, because the node's clock was set back and only the active manager has heard the node since: such
// a member has not ended.
func (g *Manager) learn(o *wire.Order) {
	if o.Kind != wire.OrderList {
		return
	}
	g.standby.list = *o
	for _, m := range o.Members {
		g.begins(m.ID)
		if g.incarnations[m.NID] > m.Incarnation {
			g.incarnations[m.NID] = m.Incarnation
		}
	}
}
