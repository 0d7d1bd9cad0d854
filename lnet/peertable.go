package lnet

import (
	"slices"
	"sync"
	"syscall"
	"time"

	"ulnet/lnet/nid"
)

// peerKey tells peer NIs apart. One NID may be reached by two NIs of a net;
// each path has its own credits.
type peerKey struct {
	nid nid.NID
	ni  *NI
}

// peerTable finds peer NIs. It is bounded: above its limit an idle peer is
// forgotten for each new one. See ager for what is forgotten below the limit.
type peerTable struct {
	limit int

	mu          sync.RWMutex
	peers       map[peerKey]*peerNI // peers by NID and NI; guarded by mu
	order       []*peerNI           // peers in an order that does not depend on the map; guarded by mu
	hand        int                 // index in order at which the next call of evict begins its search; guarded by mu
	known       map[nid.NID]*Peer   // nodes that discovery knows, by each NID; guarded by mu
	remotes     map[nid.NID]*remote // by NID: the state to which peers and known refer; guarded by mu
	rules       Rules               // selection rules; guarded by mu
	discovering bool                // whether new peers need discovery; guarded by mu
	ager        ager                // sweeps of idle peers; guarded by mu
}

func (t *peerTable) init(limit int) {
	t.limit = limit
	t.peers = make(map[peerKey]*peerNI)
	t.known = make(map[nid.NID]*Peer)
	t.remotes = make(map[nid.NID]*remote)
}

// find returns the peer with this NID beyond ni, or nil. A peer that was looked for
// lately is in the cache ni.recent, so that the table is not needed.
func (t *peerTable) find(id nid.NID, ni *NI) *peerNI {
	if p := ni.recent.find(&id); p != nil {
		return p
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	p := t.peers[peerKey{id, ni}]
	if p != nil {
		ni.recent.note(p)
	}
	return p
}

// lookUp returns the peer with this NID beyond ni, or nil, as find does. It does not remember the
// peer, because further messages to it are unlikely.
func (t *peerTable) lookUp(id nid.NID, ni *NI) *peerNI {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.peers[peerKey{id, ni}]
}

// remove removes p from the table. The caller holds t.mu.
func (t *peerTable) remove(key peerKey, p *peerNI) {
	delete(t.peers, key)
	last := t.order[len(t.order)-1]
	t.order[p.index], last.index = last, p.index
	t.order[len(t.order)-1] = nil
	t.order = t.order[:len(t.order)-1]
	p.ni.recent.forget(p)
	p.ni.node.forward.keepDebt(p)
	p.remote.paths--
	t.release(p.nid)
	t.ager.removed = true
}

// get returns the peer with this NID beyond ni and makes it if need be.
// ENOBUFS: the table is full of busy peers. ESHUTDOWN: ni was removed.
func (t *peerTable) get(id nid.NID, ni *NI) (*peerNI, error) {
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
	known := t.known[id]
	p := &peerNI{
		nid: id, ni: ni, credits: credits, minCredits: credits,
		current: !t.discovering || known.upToDate(),
		touched: ni.node.cfg.Clock.Now(),
	}
	p.known.Store(known)
	p.remote = t.remote(id)
	p.remote.paths++
	p.index = len(t.order)
	t.peers[key] = p
	t.order = append(t.order, p)
	ni.node.age()
	return p, nil
}

// evictTries bounds how many peers evict looks at.
const evictTries = 64

// evict forgets one idle peer: it searches the peers after the end of the last search, and
// prefers one that was never connected. A sender that has just found the evicted peer gets
// another one in its place (peerNI.send).
func (t *peerTable) evict() bool {
	var second *peerNI
	for range min(evictTries, len(t.order)) {
		t.hand %= len(t.order)
		p := t.order[t.hand]
		switch idle, met := p.idle(); {
		case idle && !met && p.evict():
			t.remove(peerKey{p.nid, p.ni}, p)
			return true
		case idle && second == nil:
			second = p
		}
		t.hand++
	}
	if second == nil || !second.evict() {
		return false
	}
	t.remove(peerKey{second.nid, second.ni}, second)
	return true
}

// removeNI forgets the peers beyond ni and returns them. There will be no new
// ones: a sender that chose ni before it was removed gets an error.
func (t *peerTable) removeNI(ni *NI) []*peerNI {
	t.mu.Lock()
	defer t.mu.Unlock()
	ni.removed = true
	var gone []*peerNI
	for _, p := range t.order {
		if p.ni == ni {
			gone = append(gone, p)
		}
	}
	for _, p := range gone {
		t.remove(peerKey{p.nid, ni}, p)
	}
	return gone
}

func (t *peerTable) all() []*peerNI {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clone(t.order)
}

// count returns how many peers there are beyond each NI.
func (t *peerTable) count() map[*NI]int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	per := make(map[*NI]int)
	for _, p := range t.order {
		per[p.ni]++
	}
	return per
}

// knownAs returns what discovery knows of the node with a NID, or nil.
func (t *peerTable) knownAs(id nid.NID) *Peer {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.known[id]
}

// learn stores what discovery knows of some NIDs; nil: it knows nothing any more. The result is that of
// learnRails. The caller holds t.mu.
func (t *peerTable) learn(known *Peer, ids []nid.NID, now time.Duration) (back []nid.NID) {
	for _, id := range ids {
		if known != nil {
			t.known[id] = known
		} else {
			delete(t.known, id)
		}
	}
	return t.learnRails(known, ids, now)
}

// setDiscovering turns discovery on or off for new peers and returns the present peers.
func (t *peerTable) setDiscovering(on bool) []*peerNI {
	t.mu.Lock()
	t.discovering = on
	t.mu.Unlock()
	return t.all()
}

// nodes returns the nodes that discovery knows, each once.
func (t *peerTable) nodes() []*Peer {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var nodes []*Peer
	for id, p := range t.known { // any order: Snapshot sorts the nodes
		if id == p.Primary {
			nodes = append(nodes, p)
		}
	}
	return nodes
}
