package lnet

import (
	"sync"

	"ulnet/lnet/nid"
)

// peerTable finds peer NIs by NID. It is bounded: above its limit an idle
// peer is forgotten for each new one.
type peerTable struct {
	limit int

	mu    sync.RWMutex
	byNID map[nid.NID]*PeerNI // guarded by mu
}

func (t *peerTable) init(limit int) {
	t.limit = limit
	t.byNID = make(map[nid.NID]*PeerNI)
}

// find returns the peer with this NID, or nil.
func (t *peerTable) find(id nid.NID) *PeerNI {
	t.mu.RLock()
	p := t.byNID[id]
	t.mu.RUnlock()
	return p
}

// get returns the peer with this NID and makes it, on ni, if need be. It
// returns nil when the table is full of busy peers.
func (t *peerTable) get(id nid.NID, ni *NI) *PeerNI {
	if p := t.find(id); p != nil {
		return p
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.byNID[id]; p != nil {
		return p
	}
	if len(t.byNID) >= t.limit && !t.evict() {
		return nil
	}
	credits := ni.cfg.Tunables.PeerCredits
	p := &PeerNI{nid: id, ni: ni, credits: credits, minCredits: credits}
	t.byNID[id] = p
	return p
}

// evictTries bounds the search for an idle peer.
const evictTries = 64

// evict forgets one idle peer; map order makes the choice a random one.
// Messages that hold a forgotten peer end normally.
func (t *peerTable) evict() bool {
	tries := 0
	for id, p := range t.byNID {
		if p.idle() {
			delete(t.byNID, id)
			return true
		}
		if tries++; tries == evictTries {
			break
		}
	}
	return false
}

// removeNI forgets the peers beyond ni and returns them.
func (t *peerTable) removeNI(ni *NI) []*PeerNI {
	t.mu.Lock()
	defer t.mu.Unlock()
	var gone []*PeerNI
	for id, p := range t.byNID {
		if p.ni == ni {
			gone = append(gone, p)
			delete(t.byNID, id)
		}
	}
	return gone
}

func (t *peerTable) all() []*PeerNI {
	t.mu.RLock()
	defer t.mu.RUnlock()
	peers := make([]*PeerNI, 0, len(t.byNID))
	for _, p := range t.byNID {
		peers = append(peers, p)
	}
	return peers
}
