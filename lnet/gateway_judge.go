package lnet

import (
	"slices"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/route"
	"ulnet/lnet/wire"
)

// learnGateways updates the state of gateways from what discovery knows of their NIDs. It ignores
// those ids that belong to no gateway.
func (n *Node) learnGateways(ids []nid.NID) {
	if n.gateways.byNID.Load() == nil {
		return
	}
	var news []*gateway
	for _, id := range ids {
		for _, gw := range n.gateways.of(id) {
			if !slices.Contains(news, gw) {
				news = append(news, gw)
			}
		}
	}
	if len(news) == 0 {
		return
	}
	n.gateways.index(n)
	if n.learnedGateways(news) {
		n.tellRouteWatchers()
	}
}

// learnedGateways copies what discovery knows of the gateways in list into their state. It reports
// whether the NIDs of any of them have changed.
func (n *Node) learnedGateways(list []*gateway) (news bool) {
	g := &n.gateways
	for _, gw := range list {
		g.mu.Lock()
		if known := n.peers.knownAs(gw.nid); known != nil && known.Features != 0 {
			news = gw.learn(known, n.discover.Load() != nil) || news
		}
		g.mu.Unlock()
	}
	n.judge(list...)
	return news
}

// learn copies a gateway's latest ping info to its state. It reports whether the NIDs of the gateway
// differ from those before. The caller holds gateways.mu.
func (gw *gateway) learn(known *Peer, discovering bool) (news bool) {
	s := &gw.state
	s.Checked = true
	s.Discovery = discovering && !known.Flags.Has(PeerNoDiscovery)
	s.Routes = known.Flags.Has(PeerRouter)
	nis := make([]route.NI, 0, len(known.NIs))
	for _, ni := range slices.Concat(known.NIs, known.Claimed) {
		nis = append(nis, route.NI{NID: ni.NID, Down: ni.Status == wire.StatusDown})
	}
	news = !slices.EqualFunc(nis, s.NIs, func(a, b route.NI) bool { return a.NID == b.NID })
	s.NIs = nis
	return news
}

// judge decides anew which routes by some gateways are alive, and tells watchers of processes
// beyond them.
func (n *Node) judge(list ...*gateway) {
	changed := false
	g := &n.gateways
	g.mu.Lock()
	for _, gw := range list {
		gw.dead.Store(!gw.state.Alive)
		n.observe(gw)
		for _, w := range gw.ways {
			w.now = gw.state.Judge(w.Route, g.settings)
			changed = w.path.SetAlive(w.now.Alive) || changed
		}
	}
	g.mu.Unlock()
	if changed && n.watches.some.Load() {
		review(n.watches.all(), errNoRoute)
	}
}

// observe brings those parts of a gateway's state up to date that this node knows without asking the gateway. The
// caller holds gateways.mu.
func (n *Node) observe(gw *gateway) {
	nis := *n.nis.Load()
	gw.state.Cut = !slices.ContainsFunc(n.gatewayNIDs(gw), func(id nid.NID) bool { return reachedBy(nis, id) })
	for i := range gw.state.NIs {
		ni := &gw.state.NIs[i]
		ni.Health = path.MaxHealth
		if rail := n.Rail(ni.NID); rail != nil {
			ni.Health = rail.Health()
		}
	}
}

// GatewayChecked records the result of a check of a gateway (lnet_router_discovery_complete). If
// a gateway that was alive does not answer, the connections to it are closed.
func (n *Node) GatewayChecked(id nid.NID, err error) {
	list := n.gateways.of(id)
	i := slices.IndexFunc(list, func(gw *gateway) bool { return gw.nid == id })
	if i < 0 {
		return
	}
	gw := list[i]
	n.gateways.mu.Lock()
	lost := err != nil && gw.state.Alive
	gw.state.Alive, gw.state.Checked = err == nil, true
	n.gateways.mu.Unlock()
	n.judge(gw)
	if lost {
		n.closePeer(gw.nid, 0, err)
	}
	n.tellRouteWatchers()
}

// closePeer makes drivers end the connections to all NIDs of the node that has the NID id. If incarnation is
// not 0, they end only connections to that incarnation.
func (n *Node) closePeer(id nid.NID, incarnation uint64, cause error) {
	ids := []nid.NID{id}
	if known := n.peers.knownAs(id); known != nil {
		for i := range known.NIs {
			if other := known.NIs[i].NID; other != id {
				ids = append(ids, other)
			}
		}
	}
	for _, p := range n.paths(ids, nil) {
		if c, ok := p.ni.lower.(lnd.PeerCloser); ok {
			c.ClosePeer(p.nid, incarnation, cause)
		}
	}
}

// sensitivityOf returns by how much a failure lowers the health of a NID of another node: the
// largest sensitivity of the routes by that node, or usual if it is not a gateway. A route
// without a configured sensitivity has the value 1, for which sensitivityOf returns usual: gateways
// of recorded kernel nodes lose 100.
func (n *Node) sensitivityOf(id nid.NID, usual int) int {
	gws := n.gateways.of(id)
	if gws == nil {
		return usual
	}
	n.gateways.mu.Lock()
	defer n.gateways.mu.Unlock()
	own := 1
	for _, gw := range gws {
		for _, w := range gw.ways {
			own = max(own, w.Sensitivity)
		}
	}
	if own == 1 {
		return usual
	}
	return own
}

// reviewGateway decides anew which routes are alive after the health of a NID has changed.
func (n *Node) reviewGateway(id nid.NID) {
	if list := n.gateways.of(id); list != nil {
		n.judge(list...)
	}
}
