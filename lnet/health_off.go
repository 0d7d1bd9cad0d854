package lnet

import (
	"slices"

	"ulnet/lnet/nid"
	"ulnet/lnet/path"
)

// forgetHealth gives all NIs of this node and of others their full health, when sensitivity 0 turns health off.
// Otherwise a reduced health would never rise again, and would go on affecting the choice of paths.
func (n *Node) forgetHealth() {
	for _, ni := range *n.nis.Load() {
		if ni.rail.Health() < path.MaxHealth {
			_ = n.SetNIHealth(ni.nid, path.MaxHealth) // ENOENT: the NI has gone
		}
	}
	for _, id := range n.peers.hurt() {
		_ = n.SetPeerHealth(id, path.MaxHealth) // ENOENT: the peer was forgotten meanwhile
	}
}

// hurt returns the NIDs of other nodes whose health is below its maximum, in order.
func (t *peerTable) hurt() (list []nid.NID) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for id, r := range t.remotes { // any order: the list is sorted below
		if r.Health() < path.MaxHealth {
			list = append(list, id)
		}
	}
	slices.SortFunc(list, nid.NID.Compare)
	return list
}
