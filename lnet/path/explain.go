package path

import "ulnet/lnet/nid"

// Candidate is an NI or a route that a message could use, and the reason why it is not
// chosen. One of the pointers is set.
type Candidate struct {
	Local   *Local   // an NI of this node
	Remote  *Remote  // an NI of the destination's node
	Gateway *Gateway // a gateway to the destination's net
	Why     Reason   // Chosen, or the reason why it was not chosen
}

// Explanation is a choice together with its candidates.
type Explanation struct {
	Choice     Choice      // the path that was chosen, if Err is nil
	Err        error       // the error that Choose returned
	Candidates []Candidate // NIs of this node, NIs of the destination's node, routes
}

// Explain chooses as [Choose] does and tells why the other candidates lost.
func Explain(t *Table, q *Query) Explanation {
	e := explainer{t: t, q: q, peer: q.rails()}
	e.Choice, e.Err = Choose(t, q)
	for _, n := range t.Nets {
		for _, l := range n.NIs {
			e.add(Candidate{Local: l, Why: e.whyLocal(n, l)})
		}
	}
	for _, r := range q.To.nis() {
		e.add(Candidate{Remote: r, Why: e.whyRemote(r)})
	}
	if e.Err != nil || e.Choice.Gateway != nil {
		for _, g := range t.Routes[e.dest().Net()] {
			e.add(Candidate{Gateway: g, Why: e.whyRoute(g)})
		}
	}
	return e.Explanation
}

// nis returns the NIs of the node that r belongs to.
func (r *Remote) nis() (list []*Remote) {
	if r == nil {
		return nil
	}
	p := r.Peer()
	if p == nil {
		return []*Remote{r}
	}
	for _, n := range p.Nets {
		list = append(list, n.NIs...)
	}
	return list
}

type explainer struct {
	Explanation

	t    *Table
	q    *Query
	peer *Peer // the destination's node, if the message may go to any NID of it, or nil
}

func (e *explainer) add(c Candidate) { e.Candidates = append(e.Candidates, c) }

// dest returns the NID of the destination.
func (e *explainer) dest() nid.NID {
	if e.Err != nil {
		return e.q.Dest
	}
	return e.Choice.Dest
}

func (e *explainer) whyLocal(n *Net[*Local], l *Local) Reason {
	c := &e.Choice
	switch {
	case e.Err != nil && e.q.fixed() && l.NID != e.q.Source:
		return Fixed
	case e.Err != nil:
		return NotReached
	case l == c.Local:
		return Chosen
	case e.q.fixed():
		return Fixed
	case c.Local == e.q.source():
		return Remembered
	case n == c.nets.here:
		return lost(c.Local.score(), l.score(), FewerCredits)
	}
	there := e.netBeside(l.NID)
	switch {
	case e.Choice.beyond != nil && e.peer.net(keyOf(l.NID)) != nil:
		return NetLinkDown
	case there == nil:
		return NotReached
	case c.nets.there == nil:
		return Fixed
	}
	return lostNet(c.nets.score(), nets{n, there}.score())
}

// netBeside returns the net of a NID, with the NIs that the next hop's node has on it. It
// returns nil if the message may go to no other NI of that node.
func (e *explainer) netBeside(id nid.NID) *Net[*Remote] {
	if g := e.Choice.Gateway; g != nil {
		if p := g.NI.Peer(); p != nil && p.MultiRail {
			return p.net(keyOf(id))
		}
		return nil
	}
	if e.peer != nil {
		return e.peer.net(keyOf(id))
	}
	return nil
}

func (e *explainer) whyRemote(r *Remote) Reason {
	c := &e.Choice
	switch {
	case e.Err != nil:
		return NotReached
	case r.NID == c.Dest:
		return Chosen
	case e.peer == nil:
		return Fixed
	}
	n := e.peer.net(keyOf(r.NID))
	if c.Gateway != nil {
		return e.whyBeyond(n, r)
	}
	here := e.t.net(keyOf(r.NID))
	switch {
	case here == nil:
		return NotReached
	case c.nets.there == nil:
		return Fixed
	case n == c.nets.there:
		return lost(c.hop.score(c.Local), r.score(c.Local), MoreMessages)
	}
	return lostNet(c.nets.score(), nets{here, n}.score())
}

// whyBeyond does what whyRemote does if the path is a route: this node is on no net of the destination, or has
// no link there.
func (e *explainer) whyBeyond(n *Net[*Remote], r *Remote) Reason {
	s, ok := e.t.scoreBeyond(n)
	switch {
	case e.t.net(n.key) != nil:
		return NetLinkDown
	case !ok:
		return NotReached
	case n == e.Choice.beyond:
		return lost(e.Choice.to.score(nil), r.score(nil), MoreMessages)
	}
	chosen, _ := e.t.scoreBeyond(e.Choice.beyond)
	return lostNet(chosen, s)
}

func (e *explainer) whyRoute(g *Gateway) Reason {
	var from *Local
	if e.q.fixed() {
		from, _ = e.t.local(e.q.Source)
	} else if e.Choice.Local == e.q.source() {
		from = e.Choice.Local
	}
	c, ok := e.t.hopTo(g, from)
	switch {
	case e.Err == nil && g == e.Choice.Gateway:
		return Chosen
	case !g.Alive():
		return Dead
	case !ok || e.Err != nil:
		return NotReached
	case e.Choice.Hop == e.q.Router:
		return Fixed
	}
	if order, why := compareRoutes(&e.Choice, &c, e.q.routers()); order != 0 {
		return why
	}
	return ComesLater
}
