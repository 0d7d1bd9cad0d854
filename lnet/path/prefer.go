package path

// score is what NIs, and nets, are compared by, the most significant field first. More is
// better, but for lastUse.
type score struct {
	fitness   int64 // health; -1 if down
	rank      uint64
	preferred bool
	room      int64 // credits, or messages that are not under way
	lastUse   uint64
}

// beats reports whether a is better than b.
func (a *score) beats(b *score) bool {
	switch {
	case a.fitness != b.fitness:
		return a.fitness > b.fitness
	case a.rank != b.rank:
		return a.rank > b.rank
	case a.preferred != b.preferred:
		return a.preferred
	case a.room != b.room:
		return a.room > b.room
	}
	return a.lastUse < b.lastUse
}

func (l *Local) score() score {
	return score{
		fitness: int64(l.fitness()), rank: uint64(l.rank.Load()), room: l.credits.Load(), lastUse: l.lastUse.Load(),
	}
}

// score compares r with other NIs of its net, as l would use them; l may be nil.
func (r *Remote) score(l *Local) score {
	s := score{
		fitness: int64(r.fitness()), rank: uint64(r.rank.Load()), room: -r.busy.Load(), lastUse: r.lastUse.Load(),
	}
	if p := r.prefers.Load(); p != nil && l != nil {
		s.preferred = p.Locals.Has(l.NID)
	}
	return s
}

// bestLocal chooses an NI on a net of this node.
func bestLocal(n *Net[*Local]) *Local {
	best := n.NIs[0]
	if len(n.NIs) == 1 {
		return best
	}
	most := best.score()
	for _, l := range n.NIs[1:] {
		if s := l.score(); s.beats(&most) {
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
		if s := r.score(l); s.beats(&most) {
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

// score compares nets by their best NIs, theirs before ours.
func (n nets) score() score {
	theirs, ours := int32(-1), int32(-1)
	for _, r := range n.there.NIs {
		theirs = max(theirs, r.fitness())
	}
	s := score{rank: uint64(n.there.rank.Load()) << 32, lastUse: n.there.lastUse.Load()}
	if n.here != nil {
		for _, l := range n.here.NIs {
			ours = max(ours, l.fitness())
		}
		s.rank |= uint64(n.here.rank.Load())
	}
	s.fitness = int64(theirs)<<32 + int64(ours)
	return s
}

// bestNets chooses the net on which this node speaks to another one; there is nil if
// they have none in common.
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
		if s := next.score(); s.beats(&most) {
			best, most = next, s
		}
	}
	return best
}

// bestBeyond chooses a net of another node that routes lead to, or nil.
func (t *Table) bestBeyond(p *Peer) (best *Net[*Remote]) {
	var most score
	for _, there := range p.Nets {
		if !t.routed(there.ID()) {
			continue
		}
		if s := (nets{there: there}).score(); best == nil || s.beats(&most) {
			best, most = there, s
		}
	}
	return best
}

// compareRoutes tells which of two routes is better, with the next hops that were chosen
// for them: a if positive; and in what. routers are those that a rule prefers.
func compareRoutes(a, b *Choice, routers NIDs) (order int64, why Reason) {
	g, h := a.Gateway, b.Gateway
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

// in is 1 if one of the gateway's NIDs is in the sets.
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
