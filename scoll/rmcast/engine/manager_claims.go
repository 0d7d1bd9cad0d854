package engine

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Members report the highest epoch that they know. They also report it to a manager of a lower
// epoch, whose orders they refuse. Such a report is about another manager, and a member can
// claim anything. So this manager asks the other managers, which answer if they have a higher
// epoch, and gives way only to a manager that answers. It also gives way when more than half of the
// members report the epoch, since the epoch may be its own before a restart, or that of a dead
// manager. Claims of fewer members change nothing. If no manager of their epoch speaks, these
// members join again after HealAfter.

// claim is a member's report of an epoch above this manager's.
type claim struct {
	from  nid.NID
	epoch uint64
	list  bool // the node has a list, so it is a member of some manager's group
	at    time.Duration
}

// maxMoves bounds how often a manager without a list, which has nothing to lose, moves above
// an epoch that one member reports.
const maxMoves = 3

// claimed handles a report of an epoch above this manager's.
func (g *Manager) claimed(from nid.NID, o *wire.Order) {
	g.stats.Claims++
	if o.Version.IsValid() {
		g.reportAt = g.now
	}
	if m := g.find(wire.ID{NID: from, Incarnation: o.Incarnation}); m != nil {
		m.heardAt = g.now
	}
	g.unclaim(from)
	if len(g.claims) < 2*g.cfg.Members {
		g.claims = append(g.claims, claim{from, o.Epoch, o.Version.IsValid(), g.now})
	}
	if g.askedAt+g.cfg.Heartbeat/4 <= g.now {
		g.askedAt = g.now
		g.tellRivals(false)
	}
	highest, most := g.count()
	switch {
	case most:
		g.resign(nid.NID{}, highest)
	case !g.version.IsValid() && g.moves < maxMoves:
		g.moves++
		g.standby.hearsay = max(g.standby.hearsay, o.Epoch)
		g.resign(nid.NID{}, g.epoch)
	default: // tell the member which manager is active
		s := g.state(wire.OrderState)
		s.Incarnation = o.Incarnation
		g.out.refusal(from, &s, false)
	}
}

// unclaim forgets the claims of a node, and old claims.
func (g *Manager) unclaim(from nid.NID) {
	if len(g.claims) == 0 {
		return
	}
	g.claims = slices.DeleteFunc(g.claims, func(c claim) bool { return c.from == from || g.now-c.at >= g.cfg.Takeover })
}

// count returns the highest epoch that is claimed, and whether a majority of members claims an epoch.
// Members are the nodes on the list and others that have a list of another manager.
func (g *Manager) count() (highest uint64, most bool) {
	claim, others := 0, 0
	for _, c := range g.claims {
		highest = max(highest, c.epoch)
		switch {
		case slices.ContainsFunc(g.members, func(m *managed) bool { return m.NID == c.from }):
			claim++
		case c.list:
			others++
		}
	}
	return highest, g.version.IsValid() && 2*(claim+others) > len(g.members)+others
}

// refuse tells a node why its message is refused, and the user at a limited rate.
func (g *Manager) refuse(from nid.NID, o *wire.Order, why wire.Refusal) {
	g.complaints.refused(g.now, g.out, from, why)
	g.deny(from, o, why)
}

// deny tells a node why its message is refused.
func (g *Manager) deny(from nid.NID, o *wire.Order, why wire.Refusal) {
	r := g.state(wire.OrderRefused)
	r.Incarnation, r.You, r.Flags = o.Incarnation, uint32(why), o.Flags&wire.OrderReplica
	g.out.refusal(from, &r, why == wire.RefusedStranger)
}
