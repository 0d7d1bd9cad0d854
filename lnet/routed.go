package lnet

import (
	"slices"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// routed reports whether a message has come through a router, as its header says: the source
// is on another net than the NI.
func (ni *NI) routed(d *lnd.Delivery) bool {
	return d.Header.SrcNID.Net() != ni.cfg.Net && !ni.isLo()
}

// checkRouted decides about a message whose header says that it has come through a router.
// Kernels accept it from any peer; here the peer must be a gateway of this node. Unless DropAsymmetric
// forbids asymmetric routes, the peer may also be a router that is no gateway, if its ping info says that
// it routes and there is a route to the net of the source. Such a router may bring the answer to a
// message that this node sends to that net. A router whose ping info is not known is discovered, and
// until its first discovery has ended its messages are accepted.
//
// Messages of nodes on the nets of this node are not accepted through a router, because these
// nodes have connections of their own. Such a node may have another NID, on another net. A message from
// that NID is not accepted through a router that is no gateway, since any NID stands for the node. It is
// accepted through a gateway: a node that has lost its NI on the common net may send that way.
func (ni *NI) checkRouted(d *lnd.Delivery) DropReason {
	n, net := ni.node, d.Header.SrcNID.Net()
	switch {
	case n.cfg.SourceUnchecked:
		return NotDropped
	case n.onNet(net), tellsProcesses(ni.cfg.Net) && d.From.PID != nid.LustrePID:
		return ForeignSource
	}
	gws := n.gateways.of(d.From.NID)
	switch {
	case gws == nil && !n.routesTo(net):
		return ForeignSource
	case n.gateways.dropAsymmetric.Load() && !leadTo(net, gws):
		return AsymmetricRoute
	case gws == nil && n.isNear(d.Header.SrcNID):
		return ForeignSource
	case gws == nil && !ni.isRouter(d):
		return ForeignSource
	}
	for _, gw := range gws {
		if gw.dead.Load() {
			n.revive(gw, d.From.NID, net)
		}
	}
	return NotDropped
}

// routesTo reports whether there is a route to a net, alive or not.
func (n *Node) routesTo(net nid.Net) bool { return len(n.view.Load().Routes[net]) > 0 }

// isNear reports whether the node with a NID is known to have one on a net of this node.
func (n *Node) isNear(id nid.NID) bool {
	known := n.peers.knownAs(id)
	return known != nil && slices.ContainsFunc(known.NIs, func(there wire.NIStatus) bool { return n.onNet(there.NID.Net()) })
}

// routeAlive reports whether a route to a net is alive.
func (n *Node) routeAlive(net nid.Net) bool {
	for _, g := range n.view.Load().Routes[net] {
		if g.Alive() {
			return true
		}
	}
	return false
}

// isRouter reports whether the peer at the other end of d's connection says that it routes, or
// has not yet had the time to answer. A peer of which nothing is known is discovered.
func (ni *NI) isRouter(d *lnd.Delivery) bool {
	p, ok := d.Cache.(*peerNI)
	if !ok {
		return false
	}
	// DISCOVERED counts even while another discovery of the peer is under way.
	if known := p.known.Load(); known != nil && known.Flags.Has(PeerDiscovered) {
		return known.Flags.Has(PeerRouter)
	}
	discover := ni.node.discover.Load()
	if discover == nil {
		return false
	}
	ask, trusted := p.vetting.begin()
	if ask {
		(*discover)(p.nid)
	}
	return trusted
}

// revive notes that a message from a net has come by a gateway that was thought to be down.
func (n *Node) revive(gw *gateway, via nid.NID, beyond nid.Net) {
	n.gateways.mu.Lock()
	news := gw.state.Revive(via, beyond)
	n.gateways.mu.Unlock()
	if news {
		n.judge(gw)
		n.tellRouteWatchers()
	}
}

// noteRouted records the source of a message that has come by a router, under the NID in its
// header, which the router must have checked. A source behind a gateway counts as a peer that was
// connected. A source behind another router does not, so a crowded table forgets it sooner.
func (ni *NI) noteRouted(d *lnd.Delivery) {
	if router, ok := d.Cache.(*peerNI); ok {
		router.brought.advance(d.ReceivedAt)
	}
	p := ni.behind(d)
	if p == nil {
		return // the table has no room: all its peers are busy
	}
	k := p.contacts.of(d.Header.SrcPID)
	_, before := k.heard.load()
	k.heard.advance(d.ReceivedAt)
	if before {
		return
	}
	if ni.node.gateways.of(d.From.NID) != nil {
		p.mu.Lock()
		p.met = true
		p.mu.Unlock()
	}
	ni.node.peerChanged(nid.ProcessID{NID: p.nid, PID: d.Header.SrcPID}, nil)
}

// behind returns the peer that has sent a message through a router, or nil. The router's
// peerNI caches the latest one.
func (ni *NI) behind(d *lnd.Delivery) *peerNI {
	router, ok := d.Cache.(*peerNI)
	if ok {
		if p := router.behind.Load(); p != nil && p.nid == d.Header.SrcNID && !p.evicted.Load() {
			return p
		}
	}
	p, err := ni.node.peers.get(d.Header.SrcNID, ni)
	if err != nil {
		return nil
	}
	if ok {
		router.behind.Store(p)
	}
	return p
}

// heardSince reports whether the router on one of the peers has sent a message of its own, or brought one of another node,
// after an instant. Messages of other processes on the router's host do not count, because these do not route.
func heardSince(peers []*peerNI, at time.Duration) bool {
	return slices.ContainsFunc(peers, func(p *peerNI) bool {
		last, _ := p.brought.load()
		if k := p.contacts.find(nid.LustrePID); k != nil {
			heard, _ := k.heard.load()
			last = max(last, heard)
		}
		return last > at
	})
}

// beyond reports whether a peer is on another net than the NI, behind gateways. Such a peer has
// no connection and no messages of its own; its messages are those of the gateway's NI.
func (p *peerNI) beyond() bool { return p.nid.Net() != p.ni.cfg.Net }

// reachBeyond reports whether a process of a peer behind gateways is reachable: it was heard,
// and a route to its net is alive. This node does not notice if the process ends.
func (p *peerNI) reachBeyond(pid nid.PID) (up, down bool, cause error) {
	k := p.contacts.find(pid)
	if k == nil {
		return false, false, nil
	}
	if _, heard := k.heard.load(); !heard {
		return false, false, nil
	}
	up = p.ni.node.routeAlive(p.nid.Net())
	return up, !up, errNoRoute
}

// Incarnation returns the incarnation of the NI that a message has come from: that of the
// connection. It is 0, unknown, for a message that has come by a router.
func (ni *NI) Incarnation(d *lnd.Delivery) uint64 {
	if ni.routed(d) {
		return 0
	}
	return d.Incarnation
}
