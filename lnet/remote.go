package lnet

import (
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/wire"
)

// remote is what is known of one NID, whichever of our NIs reach it. It is in the table
// while something refers to it: a peer NI, what discovery knows, or a route.
type remote struct {
	path.Remote

	paths  int // peer NIs; guarded by the table's lock, like routes
	routes int // whose gateway is the NID
}

// remote returns what is known of a NID and makes it if need be. The caller holds t.mu.
func (t *peerTable) remote(id nid.NID) *remote {
	r := t.remotes[id]
	if r == nil {
		r = &remote{}
		r.NID = id
		t.remotes[id] = r
		if t.rules != nil {
			t.ruleRemote(r)
		}
	}
	return r
}

// release forgets what is known of a NID if nothing refers to it. The caller holds t.mu.
func (t *peerTable) release(id nid.NID) {
	if r := t.remotes[id]; r != nil && r.paths == 0 && r.routes == 0 && t.known[id] == nil {
		delete(t.remotes, id)
	}
}

// learnRails follows learn. The caller holds t.mu.
func (t *peerTable) learnRails(known *Peer, ids []nid.NID) {
	if known == nil {
		for _, id := range ids {
			if r := t.remotes[id]; r != nil {
				r.SetPeer(nil)
				t.release(id)
			}
		}
		return
	}
	var rails []*path.Remote
	for _, there := range known.NIs {
		if there.NID.IsLo() {
			continue
		}
		r := t.remote(there.NID)
		r.SetDown(there.Status == wire.StatusDown)
		rails = append(rails, &r.Remote)
	}
	peer := path.NewPeer(known.Flags.Has(PeerMultiRail), rails...)
	if t.rules != nil {
		t.rulePeer(peer)
	}
	for _, r := range rails {
		r.SetPeer(peer)
	}
}

// pin has the table keep the gateways of routes, and not those of the routes before.
func (t *peerTable) pin(routes, before []*path.Gateway) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range routes {
		r := t.remote(g.Router)
		r.routes++
		g.NI = &r.Remote
	}
	for _, g := range before {
		t.remotes[g.Router].routes--
		t.release(g.Router)
	}
}
