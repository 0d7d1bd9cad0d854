package path

// score is the value by which NIs, or nets, are compared: the most significant field comes
// first, and less is better. It has few words so that it stays in registers.
type score struct {
	first   uint64 // of an NI: harm, priority, and a bit that is 0 if a rule prefers the NI; of a net: noLink, harm
	second  uint64 // of an NI: lack of credits; of a net: priority
	lastUse uint64
}

// beats reports whether a is a better score than b.
func (a score) beats(b score) bool {
	if a.first != b.first {
		return a.first < b.first
	}
	if a.second != b.second {
		return a.second < b.second
	}
	return a.lastUse < b.lastUse
}

// lack converts credits for a score: the result is smaller for more credits.
func lack(credits int64) uint64 { return uint64(-credits) ^ 1<<63 }

// Positions in score.first: harm (the lack of health, see condition) begins at bit priorityBits, the priority
// at bit preferredBits.
const (
	preferredBits = 1
	priorityBits  = preferredBits + 32
	// Number of bits of harm. In score.first of a net, the lowest bits are the harm of this node's best NI on the
	// net. The next bits are the harm of the peer's best NI.
	harmBits = 11
	// The bit in score.first of a net that says that no link of this node to the net is up. It is above the harm
	// of the peer's NI, because this node knows for certain whether its own links are up. What it knows of the
	// peer's status and health may be old.
	noLink = 1 << (2 * harmBits)
)

func (c *condition) first() uint64 {
	return uint64(c.harm.Load())<<priorityBits | uint64(^c.rank.Load())<<preferredBits
}

func (l *Local) score() score {
	return score{first: l.first(), second: lack(l.credits.Load()), lastUse: l.lastUse.Load()}
}

// score returns the score by which r is compared with other NIs of its net, for a message that leaves by l. l may be
// nil.
func (r *Remote) score(l *Local) score {
	s := score{first: r.first() | 1, second: lack(-r.busy.Load()), lastUse: r.lastUse.Load()}
	if r.prefers.Load() != nil && r.prefersLocal(l) {
		s.first &^= 1
	}
	return s
}

// prefersLocal reports whether a rule prefers l for r.
func (r *Remote) prefersLocal(l *Local) bool {
	p := r.prefers.Load()
	return p != nil && l != nil && p.Locals.Has(l.NID)
}

// bestLocal chooses an NI on a net of this node.
func bestLocal(n *Net[*Local]) *Local {
	best := n.NIs[0]
	if len(n.NIs) == 1 {
		return best
	}
	most := best.score()
	for _, l := range n.NIs[1:] {
		if s := l.score(); s.beats(most) {
			best, most = l, s
		}
	}
	return best
}

// bestRemote chooses an NI on a net of another node.
func bestRemote(n *Net[*Remote], l *Local) *Remote {
	best := n.NIs[0]
	if len(n.NIs) == 1 {
		return best
	}
	most := best.score(l)
	for _, r := range n.NIs[1:] {
		if s := r.score(l); s.beats(most) {
			best, most = r, s
		}
	}
	return best
}

// nets is a net on which this node and another one have NIs. here is nil for a net beyond
// a gateway.
type nets struct {
	here  *Net[*Local]
	there *Net[*Remote]
}

// score returns the score by which two nets are compared: whether a link of this node is up, the health of
// their best NIs, first the peer's and then this node's, and then the net's priority.
func (n nets) score() score {
	theirs, ours := n.there.NIs[0].harm.Load(), uint32(0)
	for _, r := range n.there.NIs[1:] {
		theirs = min(theirs, r.harm.Load())
	}
	s := score{second: uint64(^n.there.rank.Load()) << 32, lastUse: n.there.lastUse.Load()}
	if n.here != nil {
		ours = n.here.NIs[0].harm.Load()
		for _, l := range n.here.NIs[1:] {
			ours = min(ours, l.harm.Load())
		}
		s.second |= uint64(^n.here.rank.Load())
	}
	s.first = uint64(theirs)<<harmBits | uint64(ours)
	if ours&isDown != 0 {
		s.first |= noLink
	}
	return s
}

// bestNets chooses the net on which this node sends to another one. If the nodes have no net in common,
// best.there is nil.
func (t *Table) bestNets(p *Peer) (best nets) {
	var most score
	known := false
	for _, there := range p.Nets {
		here := t.net(there.key)
		if here == nil {
			continue
		}
		next := nets{here, there}
		if best.there == nil {
			best = next
			continue
		}
		if !known {
			most, known = best.score(), true
		}
		if s := next.score(); s.beats(most) {
			best, most = next, s
		}
	}
	return best
}

// bestBeyond chooses a net of another node to which routes lead; nil if there is none.
func (t *Table) bestBeyond(p *Peer) (best *Net[*Remote]) {
	var most score
	for _, there := range p.Nets {
		if s, ok := t.scoreBeyond(there); ok && (best == nil || s.beats(most)) {
			best, most = there, s
		}
	}
	return best
}

// scoreBeyond returns the score of a net that is not one of this node's. It returns false if no route leads
// there.
func (t *Table) scoreBeyond(there *Net[*Remote]) (s score, ok bool) {
	s = nets{there: there}.score()
	s.first |= noLink
	for _, g := range t.Routes[there.ID()] {
		if !g.Alive() {
			continue
		}
		if c, reached := t.hopTo(g, nil); reached {
			ok = true
			if !c.Local.Down() {
				s.first &^= noLink
			}
		}
	}
	return s, ok
}

// compareRoutes compares two routes, with the next hops that were chosen for them. order is
// positive if a is better, and why is the reason that decided. routers are the gateways
// that a rule prefers.
func compareRoutes(a, b *Choice, routers NIDs) (order int64, why Reason) {
	g, h := a.Gateway, b.Gateway
	if down := b.Local.Down(); a.Local.Down() != down {
		if down {
			return 1, NetLinkDown
		}
		return -1, NetLinkDown
	}
	if order = g.in(routers) - h.in(routers); order != 0 {
		return order, NotPreferred
	}
	if order = int64(h.Priority) - int64(g.Priority); order != 0 {
		return order, WorsePriority
	}
	if order = int64(max(h.Hops, 1) - max(g.Hops, 1)); order != 0 {
		return order, MoreHops
	}
	if order = b.hop.queued.Load() - a.hop.queued.Load(); order != 0 {
		return order, MoreBytes
	}
	if order = b.hop.busy.Load() - a.hop.busy.Load(); order != 0 {
		return order, MoreMessages
	}
	return int64(h.lastUse.Load()) - int64(g.lastUse.Load()), UsedLater
}

// in returns 1 if one of the gateway's NIDs is in routers, otherwise 0.
func (g *Gateway) in(routers NIDs) int64 {
	if len(routers) == 0 {
		return 0
	}
	if routers.Has(g.NI.NID) {
		return 1
	}
	if p := g.NI.Peer(); p != nil {
		for _, n := range p.Nets {
			for _, r := range n.NIs {
				if routers.Has(r.NID) {
					return 1
				}
			}
		}
	}
	return 0
}
