package lnet

import (
	"maps"
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// Times and sizes by which the table of peers forgets peers; local policy. A table is crowded
// when it has more than crowd peers, or a quarter of its limit. A crowded table forgets peers
// sooner.
const (
	crowd = 4096
	// crowdedIdle is how long a peer that has lost its connection and has no messages stays in a crowded table
	crowdedIdle     = 30 * time.Second
	crowdedInterval = 5 * time.Second
	sweepBatch      = 512 // number of peers that sweep looks at before it unlocks the table
)

// ager forgets idle peers, see [Config.PeerIdle]: those without a
// connection, without messages, and without a watcher. The mutex of the table
// guards its fields.
type ager struct {
	timer   machine.Timer // timer of the next sweep; nil: no peer can be forgotten
	at      time.Duration // time at which the timer fires
	stopped bool
	peak    int  // largest number of peers in the table since its maps were made
	removed bool // whether a peer was forgotten since the last sweep
}

// SetForgetter installs the function that removes what discovery knows of a node,
// given its primary NID, when no peer NI of it is left. f is called without locks and must
// not block.
func (n *Node) SetForgetter(f func(primary nid.NID)) { n.forget.Store(&f) }

// crowded reports whether peers are to be forgotten sooner. The caller holds t.mu.
func (t *peerTable) crowded() bool { return len(t.order) > min(crowd, t.limit/4) }

// age sets the timer of the next sweep. If the timer is set already, age only makes it earlier, never later.
// The caller holds t.mu.
func (n *Node) age() {
	t, idle := &n.peers, n.cfg.PeerIdle
	t.ager.peak = max(t.ager.peak, len(t.order))
	if idle < 0 || t.ager.stopped {
		return
	}
	interval := max(idle/2, time.Millisecond)
	if t.crowded() {
		interval = min(interval, crowdedInterval)
	}
	now := n.cfg.Clock.Now()
	if t.ager.timer != nil {
		if t.ager.at <= now+interval {
			return
		}
		t.ager.timer.Stop()
	}
	t.ager.at = now + interval
	t.ager.timer = n.cfg.Clock.AfterFunc(interval, n.sweep)
}

// sweep looks at every peer once and forgets the idle ones.
func (n *Node) sweep() {
	t := &n.peers
	t.mu.RLock()
	crowded := t.crowded()
	t.mu.RUnlock()
	for at := 0; at >= 0; {
		at = n.sweepFrom(at, crowded)
	}
	n.forgetNodes()
	n.forward.ageDebts(n.cfg.Clock.Now())
	t.mu.Lock()
	shrunk := t.shrink()
	t.ager.timer = nil
	if len(t.order) > 0 {
		n.age()
	}
	t.mu.Unlock()
	if shrunk && n.cfg.OnShrink != nil {
		n.cfg.OnShrink()
	}
}

// sweepFrom looks at the next peers of the table, from an index on, and returns the index of
// the first one that it has not looked at, or -1 at the end.
func (n *Node) sweepFrom(at int, crowded bool) int {
	t := &n.peers
	t.mu.Lock()
	defer t.mu.Unlock()
	now, idle := n.cfg.Clock.Now(), n.cfg.PeerIdle
	if crowded {
		idle = min(idle, crowdedIdle)
	}
	for range sweepBatch {
		if at >= len(t.order) {
			return -1
		}
		p := t.order[at]
		if p.age(now, idle, crowded) && !n.watched(p) && p.evict() {
			t.remove(peerKey{p.nid, p.ni}, p) // the last peer of t.order moves to the index at, so at stays
			continue
		}
		at++
	}
	return at
}

// age reports whether p may be forgotten: it has not been used for the time given as idle or, in a
// crowded table, was never connected.
func (p *peerNI) age(now, idle time.Duration, crowded bool) bool {
	p.mu.Lock()
	used, met := p.touched, p.met
	p.mu.Unlock()
	for k := p.contacts.first.Load(); k != nil; k = k.next.Load() {
		used = max(used, time.Duration(k.latest()))
	}
	return crowded && !met || now-used >= idle
}

// watched reports whether a process of p's node is watched (WatchPeer).
func (n *Node) watched(p *peerNI) bool {
	if !n.watches.some.Load() {
		return false
	}
	names := []nid.NID{p.nid}
	if known := p.known.Load(); known != nil {
		for i := range known.NIs {
			names = append(names, known.NIs[i].NID)
		}
	}
	return len(n.watches.of(names)) > 0
}

// forgetNodes makes discovery forget the nodes of which no peer NI is left.
func (n *Node) forgetNodes() {
	forget := n.forget.Load()
	if forget == nil {
		return
	}
	for _, id := range n.orphans() {
		(*forget)(id)
	}
}

// orphans returns the primary NIDs of the nodes of which no peer NI is left. It looks for them
// only if a peer was forgotten since the last call.
func (n *Node) orphans() (primaries []nid.NID) {
	nis, t := *n.nis.Load(), &n.peers
	t.mu.Lock()
	removed := t.ager.removed
	t.ager.removed = false
	t.mu.Unlock()
	if !removed {
		return nil
	}
	t.mu.RLock() // a read lock, so that messages go on meanwhile
	defer t.mu.RUnlock()
	for id, node := range t.known { // any order: the list is sorted below
		if id == node.Primary && !t.reaches(nis, node) {
			primaries = append(primaries, id)
		}
	}
	slices.SortFunc(primaries, nid.NID.Compare) // sorted, so that every run of a simulation has one order
	return primaries
}

// reaches reports whether there is a peer NI of a node. The caller holds t.mu.
func (t *peerTable) reaches(nis []*NI, node *Peer) bool {
	for i := range node.NIs {
		for _, ni := range nis {
			if t.peers[peerKey{node.NIs[i].NID, ni}] != nil {
				return true
			}
		}
	}
	return false
}

// shrink gives back the memory of a table that was much larger: a map keeps its size for ever. It reports
// whether it did so. The caller holds t.mu.
func (t *peerTable) shrink() bool {
	if t.ager.peak < crowd || len(t.order) > t.ager.peak/4 {
		return false
	}
	t.ager.peak = len(t.order)
	peers := make(map[peerKey]*peerNI, len(t.peers))
	maps.Copy(peers, t.peers)
	known := make(map[nid.NID]*Peer, len(t.known))
	maps.Copy(known, t.known)
	remotes := make(map[nid.NID]*remote, len(t.remotes))
	maps.Copy(remotes, t.remotes)
	t.peers, t.known, t.remotes = peers, known, remotes
	t.order = append([]*peerNI(nil), t.order...)
	return true
}

// stopAgeing stops all further sweeps.
func (n *Node) stopAgeing() {
	t := &n.peers
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ager.stopped = true
	if t.ager.timer != nil {
		t.ager.timer.Stop()
		t.ager.timer = nil
	}
}
