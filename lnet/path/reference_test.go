package path

import (
	"cmp"
	"slices"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// reference chooses literally by the text of lnet-semantics §12.2 and §14: it makes lists of
// all candidates and sorts them.
type reference struct {
	t *Table
	q *Query
}

// onNet reports whether two NIDs are on one net.
func onNet(a, b nid.NID) bool { return a.Net() == b.Net() && a.Is4() == b.Is4() }

// sorted returns the element of list that comes first when list is sorted by keys in
// ascending order.
func sorted[T any](list []T, keys func(T) []int64) (first T) {
	if len(list) == 0 {
		return first
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b T) int { return slices.Compare(keys(a), keys(b)) })
	return list[0]
}

func down(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// local chooses an NI of this node, in this order: not down, higher health, lower priority
// value, more credits, least recently used.
func (f reference) local(net nid.NID) *Local {
	var list []*Local
	for _, n := range f.t.Nets {
		for _, l := range n.NIs {
			if onNet(l.NID, net) {
				list = append(list, l)
			}
		}
	}
	return sorted(list, func(l *Local) []int64 {
		return []int64{down(l.Down()), -int64(l.Health()), int64(l.Priority()), -l.credits.Load(), int64(l.lastUse.Load())}
	})
}

// remote chooses an NI of another node, in this order: not down, higher health, lower priority
// value, preferred, fewer messages, least recently used.
func (f reference) remote(list []*Remote, by *Local) *Remote {
	return sorted(list, func(r *Remote) []int64 {
		preferred := int64(1)
		if p := r.prefers.Load(); p != nil && by != nil && p.Locals.Has(by.NID) {
			preferred = 0
		}
		return []int64{down(r.Down()), -int64(r.Health()), int64(r.Priority()), preferred, r.busy.Load(), int64(r.lastUse.Load())}
	})
}

// common chooses among the nets of a node that this node is on too: a link of ours that is up, higher
// health, lower priority value, least recently used.
func (f reference) common(p *Peer) *Net[*Remote] {
	var list []*Net[*Remote]
	for _, n := range p.Nets {
		if f.local(n.NIs[0].NID) != nil {
			list = append(list, n)
		}
	}
	return sorted(list, func(n *Net[*Remote]) []int64 {
		ours := f.local(n.NIs[0].NID)
		return []int64{down(ours.Down()), -f.health(n), -int64(ours.Health()), int64(n.Priority()), f.ourNet(ours), int64(n.lastUse.Load())}
	})
}

func (f reference) ourNet(l *Local) int64 {
	for _, n := range f.t.Nets {
		if slices.Contains(n.NIs, l) {
			return int64(n.Priority())
		}
	}
	return 0
}

func (f reference) health(n *Net[*Remote]) (best int64) {
	best = -MaxHealth - 1
	for _, r := range n.NIs {
		h := int64(r.Health())
		if r.Down() {
			h -= MaxHealth + 1
		}
		best = max(best, h)
	}
	return best
}

// hop chooses the path to the gateway g.
func (f reference) hop(g *Gateway, from *Local) (*Local, *Remote) {
	p := g.NI.Peer()
	if p == nil || !p.MultiRail {
		p = NewPeer(false, g.NI)
	}
	if from != nil {
		for _, n := range p.Nets {
			if onNet(n.NIs[0].NID, from.NID) {
				return from, f.remote(n.NIs, from)
			}
		}
		return nil, nil
	}
	n := f.common(p)
	if n == nil {
		return nil, nil
	}
	l := f.local(n.NIs[0].NID)
	return l, f.remote(n.NIs, l)
}

// route chooses a route, in this order: link of ours up, preferred router, lower priority, fewer hops,
// fewer bytes, more credits, least recently used.
func (f reference) route(to *Remote, dest nid.NID, from *Local) (l *Local, hop nid.NID) {
	var list []*Gateway
	for _, g := range f.t.gateways {
		if by, _ := f.hop(g, from); g.Net == dest.Net() && g.Alive() && by != nil {
			list = append(list, g)
		}
	}
	g := sorted(list, func(g *Gateway) []int64 {
		by, r := f.hop(g, from)
		preferred := int64(1)
		if to != nil {
			if p := to.prefers.Load(); p != nil && slices.ContainsFunc(p.Routers, func(s nid.Set) bool { ids, _ := s.Expand(1); return g.remote(ids[0]) != nil }) {
				preferred = 0
			}
		}
		hops := int64(g.Hops)
		if hops == 0 {
			hops = 1
		}
		return []int64{down(by.Down()), preferred, int64(g.Priority), hops, r.queued.Load(), r.busy.Load(), int64(g.lastUse.Load())}
	})
	if g == nil {
		return nil, nid.NID{}
	}
	l, r := f.hop(g, from)
	return l, r.NID
}

// choose chooses by the table of lnet-semantics §14.
func (f reference) choose() (from *Local, hop, dest nid.NID, err error) {
	q := f.q
	dest = q.Dest
	multi := q.To != nil && q.To.Peer() != nil && q.To.Peer().MultiRail && q.Kind != Recovery
	switch {
	case q.Source.IsValid():
		for _, n := range f.t.Nets {
			for _, l := range n.NIs {
				if l.NID == q.Source {
					from = l
				}
			}
		}
		if from == nil {
			return nil, hop, dest, syscall.EINVAL
		}
		hop = dest
		if !onNet(from.NID, dest) {
			from, hop = f.route(q.To, dest, from)
		}
	case multi && q.Kind == Request:
		from, hop, dest = f.overRails(q.To.Peer())
	case f.local(dest) != nil:
		from, hop = f.local(dest), dest
		if s := f.source(multi); s != nil && onNet(s.NID, dest) {
			from = s
		}
	default:
		if s := f.source(multi); s != nil {
			from, hop = f.route(q.To, dest, s)
		}
		if from == nil {
			from, hop = f.route(q.To, dest, nil)
		}
	}
	if from == nil {
		err = syscall.EHOSTUNREACH
	}
	return from, hop, dest, err
}

func (f reference) source(multi bool) *Local {
	if multi || f.q.To == nil {
		return nil
	}
	s := f.q.To.source.Load()
	if s == nil || s.Down() {
		return nil
	}
	return s
}

func (f reference) overRails(p *Peer) (from *Local, hop, dest nid.NID) {
	direct := f.common(p)
	if direct != nil {
		from = f.local(direct.NIs[0].NID)
		dest = f.remote(direct.NIs, from).NID
		if !from.Down() {
			return from, dest, dest
		}
	}
	var list []*Net[*Remote]
	for _, n := range p.Nets {
		if by, _ := f.route(nil, n.NIs[0].NID, nil); by != nil {
			list = append(list, n)
		}
	}
	n := sorted(list, func(n *Net[*Remote]) []int64 {
		by, _ := f.route(nil, n.NIs[0].NID, nil)
		return []int64{down(by.Down()), -f.health(n), int64(n.Priority()), int64(n.lastUse.Load())}
	})
	if n == nil {
		return from, dest, dest
	}
	to := f.remote(n.NIs, nil)
	by, hop := f.route(to, to.NID, nil)
	if direct != nil && by.Down() {
		return from, dest, dest
	}
	return by, hop, to.NID
}

// TestReference compares choices in random worlds with those of the reference. Explain must
// return the same error as the reference or, without an error, mark exactly one NI of this node
// as chosen.
func TestReference(t *testing.T) {
	spec.Covers(t, "SP-9", "SP-10", "SP-11", "SP-12", "SP-14")
	rapid.Check(t, func(t *rapid.T) {
		table, q := drawWorld(t)
		from, hop, dest, err := reference{table, q}.choose()
		c, got := Choose(table, q)
		if got != err || err == nil && (c.Local != from || c.Hop != hop || c.Dest != dest) {
			t.Fatalf("chose %+v, %v; want from %+v by %v to %v, %v", c, got, from, hop, dest, err)
		}
		e := Explain(table, q)
		chosen := 0
		for _, o := range e.Candidates {
			if o.Why == Chosen && o.Local != nil {
				chosen++
			}
		}
		if e.Err != err || err == nil && chosen != 1 {
			t.Fatalf("explains with %v, %d NIs chosen", e.Err, chosen)
		}
	})
}

// drawWorld draws NIs on up to four nets, with few different values, so that many are equal.
func drawWorld(t *rapid.T) (*Table, *Query) {
	var locals []*Local
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 5), 1, 4, rapid.ID).Draw(t, "locals") {
		l := &Local{NID: drawnNID(i%3, 1, i)}
		drawCondition(t, &l.condition)
		l.SetCredits(rapid.IntRange(-1, 1).Draw(t, "credits"))
		locals = append(locals, l)
	}
	peers := drawPeers(t, locals)
	var routes []*Gateway
	for range rapid.IntRange(0, 4).Draw(t, "routes") {
		r := rapid.SampledFrom(peers).Draw(t, "gateway")
		g := &Gateway{
			Net: drawnNID(rapid.IntRange(0, 4).Draw(t, "net"), 0, 0).Net(), Router: r.NID, NI: r,
			Hops: rapid.IntRange(0, 2).Draw(t, "hops"), Priority: rapid.Uint32Range(0, 1).Draw(t, "priority"),
		}
		g.down.Store(rapid.Bool().Draw(t, "dead"))
		g.lastUse.Store(rapid.Uint64Range(0, 3).Draw(t, "use"))
		routes = append(routes, g)
	}
	table := NewTable(locals, routes)
	for _, n := range table.Nets {
		n.SetPriority(drawPriority(t))
	}
	to := rapid.SampledFrom(peers).Draw(t, "to")
	q := &Query{Dest: to.NID, To: to, Kind: rapid.SampledFrom([]Kind{Request, Response, Recovery, Forward}).Draw(t, "kind")}
	if rapid.Bool().Draw(t, "fixed") {
		q.Source = rapid.SampledFrom(locals).Draw(t, "source").NID
	}
	return table, q
}

// drawPeers draws two nodes and returns their NIs.
func drawPeers(t *rapid.T, locals []*Local) (all []*Remote) {
	for node := range 2 {
		var list []*Remote
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 1, 4, rapid.ID).Draw(t, "peer") {
			r := &Remote{NID: drawnNID(i%5, 2+node, i)}
			drawCondition(t, &r.condition)
			r.busy.Store(rapid.Int64Range(0, 1).Draw(t, "busy"))
			r.queued.Store(rapid.Int64Range(0, 1).Draw(t, "queued"))
			if rapid.Bool().Draw(t, "prefers") {
				r.SetPreference(&Preference{
					Locals:  setOf(rapid.SampledFrom(locals).Draw(t, "local").NID),
					Routers: setOf(drawnNID(rapid.IntRange(0, 2).Draw(t, "router"), 2, rapid.IntRange(0, 9).Draw(t, "host"))),
				})
			}
			if rapid.Bool().Draw(t, "remembers") {
				r.source.Store(rapid.SampledFrom(locals).Draw(t, "local"))
			}
			list = append(list, r)
		}
		p := NewPeer(rapid.Bool().Draw(t, "multi-rail"), list...)
		for _, n := range p.Nets {
			n.SetPriority(drawPriority(t))
		}
		for _, r := range list {
			r.SetPeer(p)
		}
		all = append(all, list...)
	}
	return all
}

func drawCondition(t *rapid.T, c *condition) {
	c.SetHealth(MaxHealth - rapid.IntRange(0, 1).Draw(t, "lost"))
	c.SetDown(rapid.IntRange(0, 3).Draw(t, "down") == 0)
	c.SetPriority(drawPriority(t))
	c.lastUse.Store(rapid.Uint64Range(0, 3).Draw(t, "use"))
}

func drawPriority(t *rapid.T) Priority {
	return cmp.Or(Priority(rapid.Uint32Range(0, 2).Draw(t, "rule")), NoPriority)
}

func drawnNID(net, node, host int) nid.NID {
	return nid.MustParse("10." + string(rune('0'+net)) + "." + string(rune('0'+node)) + "." + string(rune('1'+host%9)) + "@tcp" + string(rune('0'+net)))
}
