package path

import "syscall"

// route chooses a path by a gateway, from l unless that is nil.
func (t *Table) route(q *Query, l *Local) (Choice, error) {
	if c, ok := t.sameWay(q, l); ok {
		return c, nil
	}
	var best Choice
	routers := q.routers()
	for _, g := range t.Routes[q.Dest.Net()] {
		if !g.Alive() {
			continue
		}
		c, ok := t.hopTo(g, l)
		if !ok {
			continue
		}
		if best.Gateway != nil {
			if order, _ := compareRoutes(&c, &best, routers); order <= 0 {
				continue
			}
		}
		best = c
	}
	if best.Gateway == nil {
		return Choice{}, syscall.EHOSTUNREACH
	}
	best.Dest, best.to = q.Dest, q.To
	return best, nil
}

// sameWay returns a path for an answer by the router that brought its request, if that router
// is still configured, even if it is down.
func (t *Table) sameWay(q *Query, l *Local) (Choice, bool) {
	if l == nil || q.Kind != Response || !q.Router.IsValid() || !l.fits(q.Router) {
		return Choice{}, false
	}
	for _, g := range t.gateways {
		if r := g.remote(q.Router); r != nil {
			return Choice{Local: l, Hop: r.NID, Dest: q.Dest, Gateway: g, hop: r, to: q.To, nets: nets{here: t.net(keyOf(l.NID))}}, true
		}
	}
	return Choice{}, false
}

// routers returns the gateways that a rule prefers for the destination.
func (q *Query) routers() NIDs {
	if q.To != nil {
		if p := q.To.prefers.Load(); p != nil {
			return p.Routers
		}
	}
	return nil
}

// hopTo chooses the next hop, one of a gateway's NIs, and the local NI by which messages reach
// that hop. If l is not nil, the local NI is l.
func (t *Table) hopTo(g *Gateway, l *Local) (Choice, bool) {
	c := Choice{Local: l, Gateway: g, hop: g.NI}
	if p := g.NI.Peer(); p != nil && p.MultiRail {
		if l != nil {
			c.nets = nets{t.net(keyOf(l.NID)), p.net(keyOf(l.NID))}
		} else {
			c.nets = t.bestNets(p)
		}
		if c.nets.there == nil {
			return c, false
		}
		if l == nil {
			c.Local = bestLocal(c.nets.here)
		}
		c.hop = bestRemote(c.nets.there, c.Local)
		c.Hop = c.hop.NID
		return c, true
	}
	if c.nets.here = t.net(keyOf(g.NI.NID)); c.nets.here == nil || l != nil && !l.fits(g.NI.NID) {
		return c, false
	}
	if l == nil {
		c.Local = bestLocal(c.nets.here)
	}
	c.Hop = g.NI.NID
	return c, true
}
