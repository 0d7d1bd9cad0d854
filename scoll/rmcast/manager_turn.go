package rmcast

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
)

// waiting is what a manager knows while another one is at work.
type waiting struct {
	manager nid.NID // zero: nobody was heard
	epoch   uint64  // the highest of a manager that said so itself
	hearsay uint64  // the highest that members told
	heardAt time.Duration
	members []Member
	gone    []ID
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

func (g *Manager) takeTurn() {
	if g.turnAt() <= g.now {
		g.elect()
	}
}

// elect begins to manage: above all epochs that were heard of, and with what the
// members know.
func (g *Manager) elect() {
	w := &g.standby
	w.epoch = max(w.epoch, w.hearsay)
	g.role, g.epoch = active, max(g.cfg.Incarnation, w.epoch+1)
	g.version, g.usable, g.free = Version{Epoch: g.epoch}, Version{}, Version{}
	g.members, g.leavers, g.departed, g.claims, g.changed = nil, nil, nil, nil, false
	if g.next = max(w.next, 1); g.next > maxNumber {
		g.next = 1 // what members know counts
	}
	for _, id := range w.gone {
		g.departed = append(g.departed, departure{id, g.version})
	}
	g.out.Effects = append(g.out.Effects, Effect{Kind: Elected, Version: g.version})
	g.collect = collect{}
	for _, m := range w.members {
		g.ask(m, MaxMembers) // all that were there said so
	}
	g.tellRivals(false)
}

// resign leaves the group to another manager.
func (g *Manager) resign(to nid.NID, epoch uint64) {
	if g.role == active {
		g.out.Effects = append(g.out.Effects, Effect{Kind: Resigned, To: to})
		o := g.list()
		g.standby.members, g.standby.gone, g.standby.next = o.Members, o.Departed, g.next
	}
	g.role, g.collect = standby, collect{}
	g.standby.manager, g.standby.epoch, g.standby.heardAt = to, epoch, g.now
}

// rival takes what another manager says: the one with the higher epoch stays.
func (g *Manager) rival(from nid.NID, o *Order) {
	switch {
	case !slices.Contains(g.cfg.Managers, from):
		g.stats.Malformed++
		return
	case g.wall.isAhead(o.Epoch, g.now):
		g.stats.Ahead++
		o.Flags = OrderReplica
		g.refuse(from, o, RefusedAhead)
		return
	case !o.agrees():
		g.stats.Malformed++
		return
	}
	delete(g.dead, from) // whatever was said
	switch {
	case g.role == active && o.Epoch < g.epoch:
		g.tellRivals(true)
		return
	case g.role == active && o.Epoch == g.epoch:
		if slices.Index(g.cfg.Managers, from) > slices.Index(g.cfg.Managers, g.cfg.Self) {
			g.standby.epoch = g.epoch // members may follow either: neither keeps it
			g.resign(nid.NID{}, g.epoch)
			g.elect()
			return
		}
	case g.role == standby && o.Epoch < g.standby.epoch:
		return
	}
	g.resign(from, o.Epoch)
	if o.Kind == OrderList {
		g.standby.members, g.standby.gone, g.standby.next = o.Members, o.Departed, o.Next
	}
}
