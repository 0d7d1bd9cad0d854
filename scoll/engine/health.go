package engine

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// health has what discovery has reported about other nodes.
type health struct {
	known map[nid.NID]vital
	epoch uint64 // number of changes of the set of live nodes
	// back has the nodes that discovery has reported back after a death, until they answer a question for their
	// incarnation that they were asked after that report. Those that answer no questions, as versions that do not know
	// wire.Identity, stay until their first request of a new incarnation after askMute, see heardOfIncarnation.
	back map[nid.NID]comeback
}

// comeback is what this node knows of a node that is back after a death.
type comeback struct {
	at         time.Duration // when discovery reported that
	unanswered int           // number of questions since then without an answer, at most maxTries
	again      time.Duration // when to ask again after maxTries of them
}

type vital struct {
	alive    bool
	lifetime uint64 // how often the node has died
}

func (h *health) init() {
	h.known, h.epoch, h.back = make(map[nid.NID]vital), 1, make(map[nid.NID]comeback)
}

// isDead reports whether discovery has reported a node dead.
func (h *health) isDead(id nid.NID) bool {
	v, ok := h.known[id]
	return ok && !v.alive
}

// isAlive reports whether a node can be sent to. With Config.Watched, discovery must have
// reported the node alive; without it, discovery must not have reported the node dead.
func (m *Machine) isAlive(id nid.NID) bool {
	if id == m.cfg.Self {
		return true
	}
	v, ok := m.health.known[id]
	return v.alive || !ok && !m.cfg.Watched
}

// healthChanged handles a report of discovery about a node. If the node has died, it ends at once the waits
// for that node, and the groups that the node created (SC-101, SC-137). If the number of deaths has risen,
// the node has died, even if discovery has not reported that death itself.
func (m *Machine) healthChanged(in *Input) {
	before, known := m.health.known[in.From]
	now := vital{in.Alive, in.Lifetime}
	if known && before == now || in.From == m.cfg.Self {
		return
	}
	m.health.known[in.From] = now
	m.health.epoch++
	if in.Alive && known {
		m.health.back[in.From] = comeback{at: m.now}
		m.askAnew(in.From)
	}
	if !in.Alive || known && before.lifetime != now.lifetime {
		m.endWaits(in.From, wire.EHOSTDOWN, m.now)
		m.endGroups(func(g *group) bool { return g.key.id.Creator == in.From })
	}
}

// endWaits ends the waits for a node: for its answer if it is a child, and for its pipelined bulk data if it
// is the parent. It does so in all requests that were forwarded to the children at the instant since or
// earlier.
func (m *Machine) endWaits(id nid.NID, s wire.Status, since time.Duration) {
	for _, r := range m.requests.slots {
		if r.phase != running || r.since > since {
			continue
		}
		if r.pipe.loading && r.parent == id {
			m.sever(r, s)
		}
		i := r.childOf(r.roster.Rank(id))
		if i < 0 || r.children[i].state == done {
			continue
		}
		m.stats.Died++
		m.fail(r, i, s)
		m.gather(r)
	}
}

// endGroups ends groups that other nodes created. It remembers which requests ran over them: if the report
// was wrong, another attempt of such a request must not run it again (SC-160). A group with requests under way
// stays until these end, because they may still run.
func (m *Machine) endGroups(which func(*group) bool) {
	for _, g := range slices.Clone(m.table.list) {
		if g.creator || g.orphaned || !which(g) {
			continue
		}
		m.stats.Destroyed++
		if g.orphaned = g.inFlight > 0; !g.orphaned {
			m.table.displace(g, m.now+2*m.cfg.MaxTimeout)
		}
	}
}

// hasEnded reports whether a group in the table has ended, because its creator is dead, or came back in another
// incarnation.
func (m *Machine) hasEnded(g *group) bool {
	id := &g.key.id
	return g.orphaned && (!m.isAlive(id.Creator) || m.isPast(id.Creator, id.Incarnation))
}

// liveSet has the live members of a group, as of an epoch.
type liveSet struct {
	epoch   uint64
	members *wire.Membership
	roster  *wire.Membership
}

// liveRoster returns the live members of a group, in their order (SC-97).
func (m *Machine) liveRoster(g *group) *wire.Membership {
	if g.live.epoch == m.health.epoch && g.live.members == g.members {
		return g.live.roster
	}
	targets := make([]wire.Target, 0, g.members.Len())
	for rank := range g.members.Len() {
		if t := g.members.Target(rank); m.isAlive(t.NID) && (len(t.Entities) > 0 || len(targets) == 0) {
			targets = append(targets, t)
		}
	}
	roster := g.members
	if len(targets) < g.members.Len() {
		roster, _ = wire.NewMembership(targets) // cannot fail: this node is a member, and the full list was valid
	}
	g.live = liveSet{m.health.epoch, g.members, roster}
	return roster
}

// appendDead appends the members that are not alive. It is fast when all members are alive.
func (m *Machine) appendDead(dead []nid.NID, g *group) []nid.NID {
	if m.liveRoster(g) == g.members {
		return dead
	}
	return append(dead, m.NotAlive(g.members)...)
}

// NotAlive lists the members that are not alive.
func (m *Machine) NotAlive(members *wire.Membership) (dead []nid.NID) {
	for rank := range members.Len() {
		if id := members.NID(rank); !m.isAlive(id) {
			dead = append(dead, id)
		}
	}
	return dead
}
