package engine

import (
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Bounds on the work that members can cause.
const (
	maxNamed = 4 // a named member is not asked while this many incarnations on its node have not answered
	// maxOwn is how many incarnations on a node are asked because the node reports them: that of the member, and another one, since
	// reports of an earlier process can be late, and the clock of a node can be set back.
	maxOwn = 2
)

// ask adds m to the members that the manager queries, and sends it the query. The parameter named is
// how many nodes have named m; if none has, the node of m has reported it.
func (g *Manager) ask(m wire.Member, named int) {
	c := &g.collect
	if named > 0 && len(c.probes) >= 2*g.cfg.Members {
		return // more members than a group can have had
	}
	if g.find(m.ID) != nil || g.isDeparted(m.ID) || c.probe(m.ID) != nil {
		return
	}
	if len(c.probes) == 0 {
		g.stats.Collections++
		c.began, c.by, c.late, c.heard, c.byID = g.now, 0, false, 0, make(map[wire.ID]*probe)
		c.reportBy, c.reported = g.now+g.cfg.Heartbeat, false
	}
	p := &probe{Member: m, named: named, own: named == 0}
	if !c.insert(p, (2+maxOwn)*g.cfg.Members) {
		return
	}
	c.by = max(c.by, min(g.now+g.cfg.Collect, c.began+3*g.cfg.Collect))
	g.question(m.NID)
}

// insert adds a probe if there is room for it. There is room for maxOwn incarnations that a node reports itself, however many
// members are named besides, as these may be invented. If the node reports more, the new one replaces the lowest one that has not
// answered, which has most probably ended. One that has answered, or that another node has named, is not replaced: messages may
// wait for that member.
func (c *collect) insert(p *probe, room int) bool {
	own, at := 0, -1
	for i, q := range c.probes {
		if !p.own || !q.own || q.NID != p.NID {
			continue
		}
		if own++; !q.answered && q.named == 0 && (at < 0 || q.Incarnation < c.probes[at].Incarnation) {
			at = i
		}
	}
	switch {
	case own < maxOwn && len(c.probes) < room:
		c.probes = append(c.probes, p)
	case own >= maxOwn && at >= 0:
		delete(c.byID, c.probes[at].ID)
		c.probes[at] = p
	default:
		return false
	}
	c.byID[p.ID] = p
	return true
}

// question asks a member which lists and members it knows. A manager on standby sends a pre-vote, which also
// asks whether this manager may become the active one.
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

// named handles a member that another one has named in its answer: this manager asks it too,
// unless it is already asking too many incarnations on that member's node.
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
