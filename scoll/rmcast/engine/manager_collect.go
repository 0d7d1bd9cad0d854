package engine

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// collect is a new manager's search for what members know (RM-A9). What they know of
// others is hearsay: each one that is named is asked itself.
type collect struct {
	began    time.Duration
	by       time.Duration
	probes   []*probe      // not finished
	answered int           // of them
	ballots  []ballot      // the lists that they have told of
	over     bool          // all that were there have been asked
	againAt  time.Duration // too few answered: when those who report are asked again
	heard    int           // so many members were heard when another manager appeared that hears fewer
}

// end forgets who was asked.
func (c *collect) end() { c.probes, c.ballots, c.answered, c.heard = nil, nil, 0, 0 }

// Bounds of what members can have a manager do.
const (
	maxNumber = 1 << 31 // of members; higher ones are given anew
	maxNamed  = 4       // lives of one node that others name
)

// probe is a member that is asked.
type probe struct {
	wire.Member
	answered bool
	grants   bool         // it obeys this manager, or would
	leaving  bool         // so that it does not count
	version  wire.Version // the newest that it knows
	named    int          // how many say that it is a member
	alone    bool         // it says that somebody has failed who answers, and most do not
	joined   *managed
	gone     []wire.ID // those of which it says that they have failed
	silent   int       // so many of them, the last ones, because they were silent
}

// probe returns what there is of a member that is asked, or nil.
func (c *collect) probe(id wire.ID) *probe {
	if i := slices.IndexFunc(c.probes, func(p *probe) bool { return p.ID == id }); i >= 0 {
		return c.probes[i]
	}
	return nil
}

// ask asks a member what it knows. named says how many have told of it.
func (g *Manager) ask(m wire.Member, named int) {
	c := &g.collect
	if len(c.probes) >= 3*g.cfg.Members || named > 0 && len(c.probes) >= 2*g.cfg.Members {
		return // there were never as many
	}
	if g.find(m.ID) != nil || g.isDeparted(m.ID) || c.probe(m.ID) != nil {
		return
	}
	if len(c.probes) == 0 {
		g.stats.Collections++
		c.began, c.heard = g.now, 0
	}
	c.by = min(g.now+g.cfg.Collect, c.began+3*g.cfg.Collect)
	c.probes = append(c.probes, &probe{Member: m, named: named})
	g.question(m.NID)
}

// question asks a member what it knows; a manager that waits its turn asks too whether it
// may take over.
func (g *Manager) question(id nid.NID) {
	o := g.state(wire.OrderCollect)
	if w := &g.standby; g.role == standby {
		o.Kind, o.Epoch, o.Version, o.Usable, o.Oldest = wire.OrderCanvass, w.ruled, wire.Version{Epoch: w.ruled}, wire.Version{}, wire.Version{}
		if w.manager.IsValid() && g.dead[w.manager] {
			o.Flags |= wire.OrderDead
		}
	}
	g.out.order(id, &o)
}

// named asks a member that another one names.
func (g *Manager) named(m wire.Member) {
	if p := g.collect.probe(m.ID); p != nil {
		p.named++
		return
	}
	incarnations := 0
	for _, p := range g.collect.probes {
		if p.NID == m.NID && !p.answered {
			incarnations++
		}
	}
	if incarnations < maxNamed && g.admitted.has(m.NID) {
		g.ask(m, 1)
	}
}

// known takes what a member knows: others, who are asked too, and those that failed.
func (g *Manager) known(from nid.NID, o *wire.Order) {
	id := wire.ID{NID: from, Incarnation: o.Incarnation}
	p := g.collect.probe(id)
	if p == nil || p.answered || len(o.Members) == 0 || (o.Flags&wire.OrderVote != 0) != (g.role == standby) {
		return
	}
	g.spoke(from, o.Incarnation)
	delete(g.dead, from) // whatever was said
	p.answered, p.version, p.leaving = true, o.Version, o.Flags&wire.OrderLeaving != 0
	p.grants = g.role == active || o.You != 0
	g.collect.answered++
	g.collect.ballot(o)
	for i, d := range o.Departed {
		if g.admitted.has(d.NID) && len(p.gone) < g.cfg.Members {
			p.gone = append(p.gone, d)
			if i >= len(o.Departed)-int(o.Silent) {
				p.silent++
			}
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
			g.named(wire.Member{ID: m.ID})
		}
	}
	p.joined = &managed{Member: p.Member, mtu: int(o.MTU), known: o.Version, oldest: o.Oldest, heardAt: g.now}
	p.joined.limits(&g.cfg, o)
}

// expires reports whether the search took so long that members do not keep what they have
// promised to this manager any more, as after it was stopped (see Machine.returns).
func (g *Manager) expires() bool { return g.now > g.collect.began+4*g.cfg.Collect }

// gather ends the search when all have answered, or have had the time: those who did
// not are left behind, if there are enough without them.
func (g *Manager) gather() {
	c := &g.collect
	if len(c.probes) == 0 {
		return
	}
	latest := g.backed()
	open := slices.ContainsFunc(c.probes, func(p *probe) bool { return !p.answered && !g.ended(p.ID) })
	switch {
	case open && g.now < c.by:
		return
	case g.expires() || latest == nil:
		g.unbacked()
		return
	}
	probes, ballots := c.probes, c.ballots
	g.setAlone(false)
	g.patientAt, g.watchAt = g.now, g.now+g.cfg.Heartbeat
	g.elected(latest)
	c.end()
	g.free = wire.Version{}
	g.failures(probes)
	var over []*probe
	for _, p := range probes {
		switch {
		case g.find(p.ID) != nil: // it has joined meanwhile
		case g.isDeparted(p.ID):
			g.expel(p.ID)
		case !p.answered || p.alone || g.dead[p.NID] || g.outlived(p.ID, probes) || latest.leftBehind(p, ballots):
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
		g.departs(p.ID, !g.ended(p.ID))
		g.expel(p.ID)
	}
	g.publish()
}

// failures decides which of the members have failed that others tell of. If one
// answers itself, most of those that answered have to say so. Otherwise it is those
// that say so which do not fit the group: they have acted on the failure, so that they
// are expelled and join again.
func (g *Manager) failures(probes []*probe) {
	answered, votes, ended, incarnations := 0, map[wire.ID]int{}, map[wire.ID]int{}, map[wire.ID]bool{}
	for _, p := range probes {
		if !p.answered {
			continue
		}
		answered++
		incarnations[p.ID] = true
		for _, id := range p.gone {
			votes[id]++
			if !p.calledSilent(id) {
				ended[id]++
			}
		}
	}
	for _, p := range probes {
		for _, id := range p.gone {
			switch {
			case g.find(id) != nil || g.isDeparted(id):
			case !incarnations[id] || 2*votes[id] > answered:
				g.departs(id, !g.ended(id) && 2*ended[id] <= answered)
			default:
				g.stats.Contradicted++
				p.alone = true
			}
		}
	}
}

// departs notes that a member has failed, as long as a list has room for it.
func (g *Manager) departs(id wire.ID, silent bool) {
	if len(g.departed) < g.cfg.Members {
		g.departed = append(g.departed, departure{id, g.version, silent})
	}
}

// outlived reports whether a later incarnation of a member's node has spoken: it may have died
// after it had answered.
func (g *Manager) outlived(id wire.ID, probes []*probe) bool {
	later := func(other wire.ID) bool { return other.NID == id.NID && other.Incarnation > id.Incarnation }
	return slices.ContainsFunc(g.members, func(m *managed) bool { return later(m.ID) }) ||
		slices.ContainsFunc(probes, func(p *probe) bool { return p.answered && later(p.ID) })
}

// calledSilent reports whether a member says of one that failed that it was only silent.
func (p *probe) calledSilent(id wire.ID) bool {
	return slices.Contains(p.gone[len(p.gone)-p.silent:], id)
}

// elected makes the members of the list that this manager goes on from the electorate.
func (g *Manager) elected(b *ballot) {
	if !g.version.IsValid() || g.base.ids == nil {
		g.base.ids = make(map[wire.ID]bool, len(b.members))
	}
	answers := g.collect.answers()
	for _, m := range b.members {
		if g.votes(m.ID, answers[m.ID]) {
			g.base.ids[m.ID] = true
		}
	}
	g.base.next = g.next
}

// unbacked ends a search in which too few answered. Nothing is changed, so that others may
// still go on with the group; the user is told.
func (g *Manager) unbacked() {
	g.collect.end()
	g.collect.againAt = g.now + 5*g.cfg.Takeover
	w := &g.standby
	switch {
	case g.role == standby && !w.version.IsValid() && w.joinAt+g.cfg.Takeover > g.now && w.joinAt > 0:
		w.members, w.gone, w.silent = nil, nil, 0
		g.elect() // of a list members alone have told: who waits to join need not wait for them
	case g.role == standby:
		g.setAlone(true)
		w.manager, w.heardAt = nid.NID{}, g.now
	case !g.version.IsValid() && len(g.cfg.Managers) > 1:
		g.setAlone(true)
		g.resign(nid.NID{}, g.epoch)
	case !g.version.IsValid():
		g.setAlone(true)
	}
}
