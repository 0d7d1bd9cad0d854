package lnet

import (
	"sync"
	"syscall"

	"ulnet/lnet/nid"
)

// peerKey tells peer NIs apart. One NID may be reached by two NIs of a net;
// each path has its own credits.
type peerKey struct {
	nid nid.NID
	ni  *NI
}

// peerTable finds peer NIs. It is bounded: above its limit an idle peer is
// forgotten for each new one.
type peerTable struct {
	limit int

	mu    sync.RWMutex
	peers map[peerKey]*PeerNI // guarded by mu
}

func (t *peerTable) init(limit int) {
	t.limit = limit
	t.peers = make(map[peerKey]*PeerNI)
}

// find returns the peer with this NID beyond ni, or nil.
func (t *peerTable) find(id nid.NID, ni *NI) *PeerNI {
	t.mu.RLock()
	p := t.peers[peerKey{id, ni}]
	t.mu.RUnlock()
	return p
}

// get returns the peer with this NID beyond ni and makes it if need be.
// ENOBUFS: the table is full of busy peers. ESHUTDOWN: ni was removed.
func (t *peerTable) get(id nid.NID, ni *NI) (*PeerNI, error) {
	if p := t.find(id, ni); p != nil {
		return p, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := peerKey{id, ni}
	if p := t.peers[key]; p != nil {
		return p, nil
	}
	if ni.removed {
		return nil, syscall.ESHUTDOWN
	}
	if len(t.peers) >= t.limit && !t.evict() {
		return nil, syscall.ENOBUFS
	}
	credits := ni.cfg.Tunables.PeerCredits
	p := &PeerNI{nid: id, ni: ni, credits: credits, minCredits: credits}
	t.peers[key] = p
	return p, nil
}

// evictTries bounds the search for an idle peer.
const evictTries = 64

// evict forgets one idle peer; map order makes the choice a random one.
// Messages that hold a forgotten peer end normally.
func (t *peerTable) evict() bool {
	tries := 0
	for key, p := range t.peers {
		if p.idle() {
			delete(t.peers, key)
			return true
		}
		if tries++; tries == evictTries {
			break
		}
	}
	return false
}

// removeNI forgets the peers beyond ni and returns them. There will be no new
// ones: whoever chose ni before it was removed gets an error.
func (t *peerTable) removeNI(ni *NI) []*PeerNI {
	t.mu.Lock()
	defer t.mu.Unlock()
	ni.removed = true
	var gone []*PeerNI
	for key, p := range t.peers {
		if p.ni == ni {
			gone = append(gone, p)
			delete(t.peers, key)
		}
	}
	return gone
}

func (t *peerTable) all() []*PeerNI {
	t.mu.RLock()
	defer t.mu.RUnlock()
	peers := make([]*PeerNI, 0, len(t.peers))
	for _, p := range t.peers {
		peers = append(peers, p)
	}
	return peers
}
