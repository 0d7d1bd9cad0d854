package lnet

import (
	"sync/atomic"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/wire"
)

// remote is all that is known of one NID of another node; all NIs of this node share it. It
// is in the table while something refers to it: a peer NI, what discovery knows, or a route.
type remote struct {
	path.Remote

	told     wire.Status                   // status that the NID's node reported last; guarded by the table's lock
	since    atomic.Int64                  // when the status became DOWN
	failures atomic.Pointer[failureCounts] // failures by class; nil: none so far

	incarnation atomic.Uint64 // incarnation of the node at the NID, from the latest connection of which a message came; 0: unknown
	earlier     atomic.Uint64 // the incarnation before that; 0: none

	paths  int // number of peer NIs with the NID; guarded by the table's lock, like routes
	routes int // number of routes whose gateway has the NID
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

// count counts a failure of a message to or from the NID.
func (r *remote) count(class lnd.Failure) {
	if r.failures.Load() == nil {
		r.failures.CompareAndSwap(nil, new(failureCounts))
	}
	r.failures.Load()[class].Add(1)
}

// release forgets what is known of a NID if nothing refers to it. The caller holds t.mu.
func (t *peerTable) release(id nid.NID) {
	if r := t.remotes[id]; r != nil && r.paths == 0 && r.routes == 0 && t.known[id] == nil {
		delete(t.remotes, id)
	}
}

// learnRails updates the remotes of the NIDs that learn has stored. It returns those that were down and are up again,
// and whose health is reduced. The caller holds t.mu.
func (t *peerTable) learnRails(known *Peer, ids []nid.NID, now time.Duration) (back []nid.NID) {
	if known == nil {
		for _, id := range ids {
			if r := t.remotes[id]; r != nil {
				r.SetPeer(nil)
				r.say(wire.StatusInvalid, now)
				t.release(id)
			}
		}
		return nil
	}
	var rails []*path.Remote
	for _, there := range known.NIs {
		if there.NID.IsLo() {
			continue
		}
		r := t.remote(there.NID)
		if up := r.say(there.Status, now); up && r.Health() < path.MaxHealth {
			back = append(back, there.NID)
		}
		rails = append(rails, &r.Remote)
	}
	peer := path.NewPeer(known.Flags.Has(PeerMultiRail), rails...)
	if t.rules != nil {
		t.rulePeer(peer)
	}
	for _, r := range rails {
		r.SetPeer(peer)
	}
	return back
}

// aliveAfter is an interval that begins when a node reports that one of its own NIDs is down. A message
// from that NID shows that the NID is up again only if it arrives after this interval: a message that
// arrives earlier may have been in flight before the report.
const aliveAfter = time.Second

// say stores the status that the node of r's NID reports for that NID, and reports whether the NID was down and is up
// again. Only a change of the status has an effect, see heard. The caller holds the table's lock.
func (r *remote) say(s wire.Status, now time.Duration) (up bool) {
	was := r.told
	r.told = s
	switch {
	case s != wire.StatusDown:
		return r.SetDown(false)
	case was != wire.StatusDown:
		r.since.Store(int64(now))
		r.SetDown(true)
	}
	return false
}

// heard is called when a message has come from a NID that its node reports as down. If that is more
// than aliveAfter after the report, the NID counts as up again: kernel nodes go on reporting DOWN
// long after the link is back.
func (r *remote) heard(at time.Duration) {
	if at > time.Duration(r.since.Load())+aliveAfter {
		r.SetDown(false)
	}
}

// pin keeps the remotes of the routes' gateways in the table, and no longer keeps those of
// the earlier routes.
func (t *peerTable) pin(routes, before []*path.Gateway) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range routes {
		r := t.remote(g.Router)
		r.routes++
		if g.NI != &r.Remote { // not written if it is the same, because senders read it without a lock
			g.NI = &r.Remote
		}
	}
	for _, g := range before {
		t.remotes[g.Router].routes--
		t.release(g.Router)
	}
}
