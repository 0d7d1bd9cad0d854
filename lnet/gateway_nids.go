package lnet

import (
	"maps"
	"slices"

	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

// index makes byNID, with the NIDs under which messages of the gateways come. The gateways of a list are in the
// order of routers.
func (g *gateways) index(n *Node) {
	g.mu.Lock() // held until the store, so that another goroutine does not store an older state afterwards
	defer g.mu.Unlock()
	if len(g.routers) == 0 {
		g.byNID.Store(nil)
		return
	}
	byNID := make(map[nid.NID][]*gateway)
	for _, gw := range g.routers {
		for _, id := range n.gatewayNIDs(gw) {
			if list := byNID[id]; !slices.Contains(list, gw) {
				byNID[id] = append(list, gw)
			}
		}
	}
	if old := g.byNID.Load(); old == nil || !maps.EqualFunc(*old, byNID, slices.Equal[[]*gateway]) {
		g.byNID.Store(&byNID)
	}
}

// of returns the gateways that have a NID, see byNID; nil: no gateway has it.
func (g *gateways) of(id nid.NID) []*gateway {
	if byNID := g.byNID.Load(); byNID != nil {
		return (*byNID)[id]
	}
	return nil
}

// leadTo reports whether there is a route to a net by one of some gateways.
func leadTo(net nid.Net, gws []*gateway) bool {
	return slices.ContainsFunc(gws, func(gw *gateway) bool {
		_, found := slices.BinarySearchFunc(*gw.nets.Load(), net, nid.Net.Compare)
		return found
	})
}

// Gateways returns the gateways with the NIDs at which to check each: one on each net that it
// shares with this node.
func (n *Node) Gateways() (targets []route.Target) {
	nis := *n.nis.Load()
	for _, gw := range n.gateways.all() {
		t := route.Target{Gateway: gw.nid}
		for _, id := range n.gatewayNIDs(gw) {
			if reachedBy(nis, id) && !slices.ContainsFunc(t.NIDs, func(o nid.NID) bool { return o.Net() == id.Net() }) {
				t.NIDs = append(t.NIDs, id)
			}
		}
		targets = append(targets, t)
	}
	return targets
}

// gatewayNIDs returns the NID by which a gateway is configured, and the NIDs by which discovery knows it.
func (n *Node) gatewayNIDs(gw *gateway) []nid.NID {
	ids := []nid.NID{gw.nid}
	if known := n.peers.knownAs(gw.nid); known != nil {
		for i := range known.NIs {
			ids = append(ids, known.NIs[i].NID)
		}
	}
	return ids
}

// reachedBy reports whether one of the NIs nis, apart from lo, is on the net of a NID.
func reachedBy(nis []*NI, id nid.NID) bool {
	return slices.ContainsFunc(nis, func(ni *NI) bool { return ni.reaches(id) && !ni.isLo() })
}
