package path

import (
	"cmp"
	"slices"

	"ulnet/lnet/nid"
)

// Reason tells why a candidate lost.
type Reason uint8

// The reasons.
const (
	Chosen           Reason = iota // it did not lose
	Fixed                          // source, destination or router of the message are fixed
	Remembered                     // the peer is not multi-rail, and gets messages from the NI that it knows
	NotReached                     // its net does not lead to the destination
	Dead                           // the route is down
	LinkDown                       // its link is down, or its node says that it is
	WorseHealth                    // than the chosen one
	WorsePriority                  // a higher priority value
	NotPreferred                   // a rule prefers the chosen one
	MoreHops                       // than the chosen route
	MoreBytes                      // are on their way to it
	FewerCredits                   // are available
	MoreMessages                   // are on their way to it
	UsedLater                      // than the chosen one
	ComesLater                     // equal in everything, and later in the list
	NetWorseHealth                 // the best NI of its net is worse than that of the chosen net
	NetWorsePriority               // its net has a higher priority value
	NetUsedLater                   // its net was used later
)

var reasons = [...]string{
	Chosen: "chosen", Fixed: "the message must not use it", Remembered: "the peer knows another NI",
	NotReached: "no path", Dead: "route is down", LinkDown: "down", WorseHealth: "health",
	WorsePriority: "priority", NotPreferred: "not preferred", MoreHops: "more hops", MoreBytes: "more bytes queued",
	FewerCredits: "fewer credits", MoreMessages: "more messages", UsedLater: "used later", ComesLater: "comes later",
	NetWorseHealth: "health of the net", NetWorsePriority: "priority of the net", NetUsedLater: "net used later",
}

func (r Reason) String() string { return reasons[r] }

// MarshalText returns what String does.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// compareLocal tells which of two NIs is better, a if positive, and in what.
func compareLocal(a, b *Local) (int, Reason) {
	if c := cmp.Compare(a.fitness(), b.fitness()); c != 0 {
		return c, unfit(a.Down() != b.Down())
	}
	if c := cmp.Compare(a.rank.Load(), b.rank.Load()); c != 0 {
		return c, WorsePriority
	}
	if c := cmp.Compare(a.credits.Load(), b.credits.Load()); c != 0 {
		return c, FewerCredits
	}
	return cmp.Compare(b.lastUse.Load(), a.lastUse.Load()), UsedLater
}

func unfit(down bool) Reason {
	if down {
		return LinkDown
	}
	return WorseHealth
}

// compareRemote does so for peer NIs, as l would use them; l may be nil.
func compareRemote(a, b *Remote, l *Local) (int, Reason) {
	if c := cmp.Compare(a.fitness(), b.fitness()); c != 0 {
		return c, unfit(a.Down() != b.Down())
	}
	if c := cmp.Compare(a.rank.Load(), b.rank.Load()); c != 0 {
		return c, WorsePriority
	}
	if c := cmp.Compare(a.preferred(l), b.preferred(l)); c != 0 {
		return c, NotPreferred
	}
	if c := cmp.Compare(b.busy.Load(), a.busy.Load()); c != 0 {
		return c, MoreMessages
	}
	return cmp.Compare(b.lastUse.Load(), a.lastUse.Load()), UsedLater
}

// preferred is 1 if a rule prefers l for r.
func (r *Remote) preferred(l *Local) int {
	if p := r.prefers.Load(); p != nil && l != nil && slices.Contains(p.Locals, l.NID) {
		return 1
	}
	return 0
}

// nets is a net on which this node and another one have NIs. Either may be nil: a node
// of which nothing is known, or a net beyond a gateway.
type nets struct {
	here  *Net[*Local]
	there *Net[*Remote]
}

func compareNets(a, b nets) (int, Reason) {
	if c := cmp.Compare(remoteFitness(a.there), remoteFitness(b.there)); c != 0 {
		return c, NetWorseHealth
	}
	if c := cmp.Compare(localFitness(a.here), localFitness(b.here)); c != 0 {
		return c, NetWorseHealth
	}
	if c := cmp.Compare(a.there.rank.Load(), b.there.rank.Load()); c != 0 {
		return c, NetWorsePriority
	}
	if a.here != nil && b.here != nil {
		if c := cmp.Compare(a.here.rank.Load(), b.here.rank.Load()); c != 0 {
			return c, NetWorsePriority
		}
	}
	return cmp.Compare(b.there.lastUse.Load(), a.there.lastUse.Load()), NetUsedLater
}

func localFitness(n *Net[*Local]) int32 {
	best := int32(-1)
	if n != nil {
		for _, l := range n.NIs {
			best = max(best, l.fitness())
		}
	}
	return best
}

func remoteFitness(n *Net[*Remote]) int32 {
	best := int32(-1)
	for _, r := range n.NIs {
		best = max(best, r.fitness())
	}
	return best
}

// compareRoutes tells which of two routes is better, with the next hops that were chosen
// for them. routers are those that a rule prefers.
func compareRoutes(a, b *Choice, routers []nid.NID) (int, Reason) {
	if len(routers) > 0 {
		if c := cmp.Compare(a.Gateway.in(routers), b.Gateway.in(routers)); c != 0 {
			return c, NotPreferred
		}
	}
	if c := cmp.Compare(b.Gateway.Priority, a.Gateway.Priority); c != 0 {
		return c, WorsePriority
	}
	if c := cmp.Compare(max(b.Gateway.Hops, 1), max(a.Gateway.Hops, 1)); c != 0 {
		return c, MoreHops
	}
	if c := cmp.Compare(b.hop.queued.Load(), a.hop.queued.Load()); c != 0 {
		return c, MoreBytes
	}
	if c := cmp.Compare(b.hop.busy.Load(), a.hop.busy.Load()); c != 0 {
		return c, MoreMessages
	}
	return cmp.Compare(b.Gateway.lastUse.Load(), a.Gateway.lastUse.Load()), UsedLater
}

// in is 1 if one of the gateway's NIDs is in the list.
func (g *Gateway) in(routers []nid.NID) int {
	for _, id := range routers {
		if g.remote(id) != nil {
			return 1
		}
	}
	return 0
}

func bestLocal(n *Net[*Local]) *Local {
	best := n.NIs[0]
	for _, l := range n.NIs[1:] {
		if c, _ := compareLocal(l, best); c > 0 {
			best = l
		}
	}
	return best
}

func bestRemote(n *Net[*Remote], l *Local) *Remote {
	best := n.NIs[0]
	for _, r := range n.NIs[1:] {
		if c, _ := compareRemote(r, best, l); c > 0 {
			best = r
		}
	}
	return best
}

// bestNets chooses the net on which this node speaks to another one; there is nil if
// they have none in common.
func (t *Table) bestNets(p *Peer) (best nets) {
	for _, n := range p.Nets {
		here := t.net(n.id)
		if here == nil {
			continue
		}
		next := nets{here, n}
		if best.there != nil {
			if c, _ := compareNets(next, best); c <= 0 {
				continue
			}
		}
		best = next
	}
	return best
}
