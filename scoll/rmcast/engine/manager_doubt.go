package engine

import (
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// beginning is when a manager first heard of a node's present incarnation. Discovery reports the death of a node that
// was restarted when the next incarnation may have joined already. It reports a node, and no incarnation, so the
// beginning shows which incarnation has died (RM-A8).
type beginning struct {
	incarnation uint64
	at          time.Duration
}

// begins records when an incarnation was first heard of, in a message of its node or in a list of the active manager.
func (g *Manager) begins(id wire.ID) {
	b, known := g.began[id.NID]
	if !known && len(g.began) >= 4*g.cfg.Members || known && b.incarnation == id.Incarnation {
		return
	}
	g.began[id.NID] = beginning{id.Incarnation, g.now}
}

// unheard is an instant long ago. The time since then can be computed without an overflow.
const unheard = -machine.Never / 2

// Doubt is a death that discovery has reported with Doubt, for which Ended has not followed.
type Doubt struct {
	Node nid.NID // the node that is reported dead
	// Began is when this manager first heard of the node's present incarnation; unheard: it has heard of none. The
	// death counts, and Ended is to follow, only if that incarnation has died.
	Began time.Duration
}

// certain handles the news that a death is certain. The node of a member may run although discovery on it was stopped.
// So while a member on the node reports, its death stays doubted. The time for which this process was stopped does not
// count as the member's silence. Right after such a stop, certain does nothing, because reports may wait to be read;
// another Ended follows.
func (g *Manager) certain(id nid.NID) {
	if _, reported := g.dead[id]; !reported { // the node has been reported alive since, or has joined or answered
		return
	}
	for m := range g.all() {
		if m.NID == id && (g.wasPaused() || g.silence(m) < g.cfg.Takeover) {
			return
		}
	}
	g.health(id, false, false)
}

// Doubts reports whether any deaths are not certain. Doubted may return none of these all the same, because it returns
// only those that matter at present.
func (g *Manager) Doubts() bool {
	for _, certain := range g.dead { // any order: one is enough
		if !certain {
			return true
		}
	}
	return false
}

// concern is what changes when a death that has been reported begins to matter, see matters: another list, or a search that
// begins or goes further.
type concern struct {
	role            role
	list            wire.Version
	probes, ballots int
}

func (g *Manager) concern() concern {
	c := concern{g.role, g.version, len(g.collect.probes), len(g.collect.ballots)}
	if g.role == standby {
		c.list = g.standby.list.Version
	}
	return c
}

// matters reports whether the death of a node matters to this group now: the node is a manager, or has a member on the
// latest list, in the electorate, or in a search, where it may also be one that was left behind and has a vote; or it has a
// member that was left behind and for which messages may still wait.
func (g *Manager) matters(id nid.NID) bool {
	if slices.Contains(g.cfg.Managers, id) {
		return true
	}
	for m := range g.all() {
		if m.NID == id {
			return true
		}
	}
	if g.base.names(id) || slices.ContainsFunc(g.departed, func(d departure) bool { return d.silent && d.id.NID == id }) {
		return true
	}
	for i := range g.collect.ballots {
		if slices.ContainsFunc(g.collect.ballots[i].silent, func(m wire.ID) bool { return m.NID == id }) {
			return true
		}
	}
	return slices.ContainsFunc(g.collect.probes, func(p *probe) bool { return p.NID == id }) ||
		g.role == standby && slices.ContainsFunc(g.standby.list.Members, func(m wire.Member) bool { return m.NID == id })
}

// Doubted returns the deaths that are not certain and that matter to this group now, in the order of NIDs.
func (g *Manager) Doubted() (list []Doubt) {
	for id, certain := range g.dead { // any order: they are sorted below
		if certain || !g.matters(id) {
			continue
		}
		d := Doubt{id, unheard}
		if b, known := g.began[id]; known {
			d.Began = b.at
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b Doubt) int { return a.Node.Compare(b.Node) })
	return list
}
