package engine

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Members report the highest epoch that they know, also to a manager of a lower one,
// whose orders they refuse. That is hearsay of another manager, of which a member can
// say what it likes. So the manager asks the others, who answer if they have a higher
// epoch, and gives way only to one of them, or, since its own incarnation before or a manager
// that has died may have had the epoch, if most members say so. What few members say
// changes nothing: they join again after HealAfter, if no manager of their epoch speaks.

// claim is a member's report of an epoch above this manager's.
type claim struct {
	from  nid.NID
	epoch uint64
	list  bool // it has one, so it is a member of some manager's group
	at    time.Duration
}

// maxMoves is how often a manager without a list, which has nothing to lose, goes above
// an epoch that one member reports.
const maxMoves = 3

// claimed takes a report of an epoch above this manager's.
func (g *Manager) claimed(from nid.NID, o *wire.Order) {
	g.stats.Claims++
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
	default: // it learns who manages
		s := g.state(wire.OrderState)
		s.Incarnation = o.Incarnation
		g.out.order(from, &s)
	}
}

// unclaim forgets what a node has claimed, and what was claimed long ago.
func (g *Manager) unclaim(from nid.NID) {
	if len(g.claims) == 0 {
		return
	}
	g.claims = slices.DeleteFunc(g.claims, func(c claim) bool { return c.from == from || g.now-c.at >= g.cfg.Takeover })
}

// count returns the highest epoch that is claimed, and whether most members claim one:
// those on the list, and others that have a list of another manager.
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

// refuse tells a node why its message is refused, and now and then the user.
func (g *Manager) refuse(from nid.NID, o *wire.Order, why wire.Refusal) {
	g.complaints.refused(g.now, g.out, from, why)
	g.deny(from, o, why)
}

// deny tells a node why its message is refused.
func (g *Manager) deny(from nid.NID, o *wire.Order, why wire.Refusal) {
	r := g.state(wire.OrderRefused)
	r.Incarnation, r.You, r.Flags = o.Incarnation, uint32(why), o.Flags&wire.OrderReplica
	g.out.order(from, &r)
}
