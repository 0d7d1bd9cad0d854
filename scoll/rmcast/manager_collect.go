package rmcast

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
)

// collect is a new manager's search for what members know (RM-A9). What they know of
// others is hearsay: each one that is named is asked itself.
type collect struct {
	began  time.Duration
	by     time.Duration
	probes []*probe // not finished
	over   bool     // all that were there have been asked
}

// Bounds of what members can have a manager do.
const (
	maxNumber = 1 << 31 // of members; higher ones are given anew
	maxNamed  = 4       // lives of one node that others name
)

// probe is a member that is asked.
type probe struct {
	Member
	answered bool
	named    int  // how many say that it is a member
	alone    bool // it says that somebody has failed who answers, and most do not
	joined   *managed
	gone     []ID // those of which it says that they have failed
}

// probe returns what there is of a member that is asked, or nil.
func (c *collect) probe(id ID) *probe {
	if i := slices.IndexFunc(c.probes, func(p *probe) bool { return p.ID == id }); i >= 0 {
		return c.probes[i]
	}
	return nil
}

// ask asks a member what it knows. named says how many have told of it.
func (g *Manager) ask(m Member, named int) {
	c := &g.collect
	if len(c.probes) >= 3*g.cfg.Members || named > 0 && len(c.probes) >= 2*g.cfg.Members {
		return // there were never as many
	}
	if g.find(m.ID) != nil || g.isDeparted(m.ID) || c.probe(m.ID) != nil {
		return
	}
	if len(c.probes) == 0 {
		g.stats.Collections++
		c.began = g.now
	}
	c.by = min(g.now+g.cfg.Collect, c.began+3*g.cfg.Collect)
	c.probes = append(c.probes, &probe{Member: m, named: named})
	o := g.state(OrderCollect)
	g.order(m.NID, &o)
}

// named asks a member that another one names.
func (g *Manager) named(m Member) {
	if p := g.collect.probe(m.ID); p != nil {
		p.named++
		return
	}
	lives := 0
	for _, p := range g.collect.probes {
		if p.NID == m.NID && !p.answered {
			lives++
		}
	}
	if lives < maxNamed && g.admitted.has(m.NID) {
		g.ask(m, 1)
	}
}

// known takes what a member knows: others, who are asked too, and those that failed.
func (g *Manager) known(from nid.NID, o *Order) {
	id := ID{from, o.Life}
	p := g.collect.probe(id)
	if p == nil || p.answered || len(o.Members) == 0 {
		return
	}
	p.answered = true
	for _, d := range o.Departed {
		if g.admitted.has(d.NID) && len(p.gone) < g.cfg.Members {
			p.gone = append(p.gone, d)
		}
	}
	for _, m := range o.Members {
		if m.Number < maxNumber {
			g.next = max(g.next, m.Number+1)
		} else {
			m.Number = 0
		}
		if m.ID == id {
			p.Number = m.Number
		} else if m.NID != from {
			g.named(Member{ID: m.ID})
		}
	}
	p.joined = &managed{Member: p.Member, mtu: int(o.MTU), capacity: int(o.Capacity), known: o.Version, oldest: o.Oldest, heardAt: g.now}
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
	g.failures(probes)
	var over []*probe
	for _, p := range probes {
		switch {
		case g.find(p.ID) != nil: // it has joined meanwhile
		case g.isDeparted(p.ID):
			g.expel(p.ID)
		case !p.answered || p.alone || g.dead[p.NID] || g.outlived(p.ID, probes):
			over = append(over, p)
		default:
			c.over = true
			if p.Number == 0 || slices.ContainsFunc(g.members, func(m *managed) bool { return m.Number == p.Number }) {
				p.joined.Number = g.next
				g.next++
			}
			g.add(p.joined)
		}
	}
	slices.SortStableFunc(over, func(a, b *probe) int { return b.named - a.named }) // inventions last
	for _, p := range over {
		g.departs(p.ID)
		g.expel(p.ID)
	}
	g.publish()
}

// failures decides which of the members have failed that others tell of. If one
// answers itself, most of those that answered have to say so. Otherwise it is those
// that say so which do not fit the group: they have acted on the failure, so that they
// are expelled and join again.
func (g *Manager) failures(probes []*probe) {
	answered, votes, lives := 0, map[ID]int{}, map[ID]bool{}
	for _, p := range probes {
		if !p.answered {
			continue
		}
		answered++
		lives[p.ID] = true
		for _, id := range p.gone {
			votes[id]++
		}
	}
	for _, p := range probes {
		for _, id := range p.gone {
			switch {
			case g.find(id) != nil || g.isDeparted(id):
			case !lives[id] || 2*votes[id] > answered:
				g.departs(id)
			default:
				g.stats.Contradicted++
				p.alone = true
			}
		}
	}
}

// departs notes that a member has failed, as long as a list has room for it.
func (g *Manager) departs(id ID) {
	if len(g.departed) < g.cfg.Members {
		g.departed = append(g.departed, departure{id, g.version})
	}
}

// outlived reports whether a later life of a member's node has spoken: it may have died
// after it had answered.
func (g *Manager) outlived(id ID, probes []*probe) bool {
	later := func(other ID) bool { return other.NID == id.NID && other.Life > id.Life }
	return slices.ContainsFunc(g.members, func(m *managed) bool { return later(m.ID) }) ||
		slices.ContainsFunc(probes, func(p *probe) bool { return p.answered && later(p.ID) })
}
