package rmcast

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
)

// waiting is what a manager knows while another one is at work.
type waiting struct {
	manager nid.NID // zero: nobody was heard
	epoch   uint64  // the highest that was heard of
	heardAt time.Duration
	members []Member
	gone    []ID
	next    uint32
}

// collect is a new manager's search for what members know (RM-A9).
type collect struct {
	by     time.Duration
	probes []*probe // not finished
	over   bool     // all that were there have been asked
}

// probe is a member that is asked.
type probe struct {
	Member
	answered bool
	joined   *managed
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
	g.role, g.epoch = active, max(g.cfg.Incarnation, w.epoch+1)
	g.version, g.usable, g.free = Version{Epoch: g.epoch}, Version{}, Version{}
	g.members, g.leavers, g.departed, g.changed = nil, nil, nil, false
	g.next = max(w.next, 1)
	for _, id := range w.gone {
		g.departed = append(g.departed, departure{id, g.version})
	}
	g.out.Effects = append(g.out.Effects, Effect{Kind: Elected, Version: g.version})
	g.collect = collect{}
	for _, m := range w.members {
		g.ask(m)
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
	delete(g.dead, from) // whatever was said
	switch {
	case !slices.Contains(g.cfg.Managers, from):
		g.stats.Malformed++
		return
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

// ask asks a member what it knows.
func (g *Manager) ask(m Member) {
	c := &g.collect
	if len(c.probes) == 2*g.cfg.Members {
		return // there were never as many
	}
	if g.find(m.ID) != nil || g.isDeparted(m.ID) || slices.ContainsFunc(c.probes, func(p *probe) bool { return p.ID == m.ID }) {
		return
	}
	if len(c.probes) == 0 {
		g.stats.Collections++
	}
	c.by = g.now + g.cfg.Collect
	c.probes = append(c.probes, &probe{Member: m})
	o := g.state(OrderCollect)
	g.order(m.NID, &o)
}

// known takes what a member knows: others, who are asked too, and those that failed.
func (g *Manager) known(from nid.NID, o *Order) {
	id := ID{from, o.Life}
	i := slices.IndexFunc(g.collect.probes, func(p *probe) bool { return p.ID == id })
	if i < 0 || len(o.Members) == 0 {
		return
	}
	p := g.collect.probes[i]
	for _, d := range o.Departed {
		if g.find(d) == nil && !g.isDeparted(d) {
			g.departed = append(g.departed, departure{d, g.version})
		}
	}
	for _, m := range o.Members {
		g.next = max(g.next, m.Number+1)
		if m.ID == id {
			p.Number = m.Number
		} else if m.NID != from {
			g.ask(m)
		}
	}
	p.answered = true
	p.joined = &managed{Member: p.Member, mtu: int(o.MTU), capacity: int(o.Capacity), known: o.Version, oldest: o.Oldest}
}

// gather ends the search when all have answered, or have had the time: those who did
// not have failed.
func (g *Manager) gather() {
	c := &g.collect
	if len(c.probes) == 0 {
		return
	}
	open := slices.ContainsFunc(c.probes, func(p *probe) bool { return !p.answered && !g.dead[p.NID] })
	if open && g.now < c.by {
		return
	}
	probes := c.probes
	c.probes, g.free = nil, Version{}
	for _, p := range probes {
		switch {
		case g.find(p.ID) != nil: // it has joined meanwhile
		case g.isDeparted(p.ID):
			g.expel(p.ID)
		case !p.answered || g.dead[p.NID] || g.outlived(p.ID, probes):
			g.departed = append(g.departed, departure{p.ID, g.version})
			g.expel(p.ID)
		default:
			c.over = true
			if p.Number == 0 || slices.ContainsFunc(g.members, func(m *managed) bool { return m.Number == p.Number }) {
				p.joined.Number = g.next
				g.next++
			}
			g.add(p.joined)
		}
	}
	g.publish()
}

// outlived reports whether a later life of a member's node is known: it may have died
// after it had answered.
func (g *Manager) outlived(id ID, probes []*probe) bool {
	later := func(other ID) bool { return other.NID == id.NID && other.Life > id.Life }
	return slices.ContainsFunc(g.members, func(m *managed) bool { return later(m.ID) }) ||
		slices.ContainsFunc(probes, func(p *probe) bool { return later(p.ID) })
}
