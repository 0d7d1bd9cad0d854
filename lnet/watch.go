package lnet

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"ulnet/lnet/nid"
)

// ErrMoved is the cause that a watcher is given when the process that it watches
// is found to be on another node than the connected one.
var ErrMoved = errors.New("discovery has found the NID to be of another node, which is not connected")

// PeerChange is the new state of a watched process.
type PeerChange struct {
	Up    bool  // a connection was made; false: the last one ended, or none can be made
	Cause error // why the process is down
	Known bool  // the state when the watch began, not a change
}

// WatchPeer calls f when a process becomes reachable (up), and when the last connection to it
// ends or it cannot be reached (down, with the cause that the driver gives), until stop is
// called. NIDs and PIDs stand for processes as in LastHeard; a process of this node is up
// while lo is.
//
// The present state of the process, if known, is reported before WatchPeer returns, with
// Known set: it may be an old failure. Nothing is known of a process that this node has not
// tried to reach yet; then the first report is of its first connection. Calls for one watch
// come one at a time, alternating between up and down. While f runs changes are merged to at
// most one down and one up, so that an interruption, however short, is always reported.
//
// f runs without locks in the goroutine that caused the change: a goroutine of the driver, one
// that calls WatchPeer, or one that calls a method which changes peers, NIs or routes. f must not
// block nor change routes, and a caller of any of these methods must hold no lock that f takes. A call that has
// begun may outlast stop, which does not wait and may be called from f.
//
// A watch exists until it is stopped, even if the table of peers forgets the peer: that
// happens only to peers without a connection, which are down.
func (n *Node) WatchPeer(id nid.ProcessID, f func(PeerChange)) (stop func()) {
	id.PID = process(id.PID)
	w := &watch{node: n, id: id, f: f}
	w.begin()
	return func() {
		n.watches.remove(w)
		w.stopped.Store(true)
	}
}

// watches has the watches of each process.
type watches struct {
	some atomic.Bool // list is not empty; if it is empty, messages do not lock mu

	mu   sync.Mutex
	list map[nid.NID][]*watch // watches by the NIDs that were given to WatchPeer; guarded by mu
}

func (s *watches) add(w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = make(map[nid.NID][]*watch)
	}
	s.list[w.id.NID] = append(s.list[w.id.NID], w)
	s.some.Store(true)
}

func (s *watches) remove(w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := slices.DeleteFunc(s.list[w.id.NID], func(o *watch) bool { return o == w })
	if len(rest) == 0 {
		delete(s.list, w.id.NID)
	} else {
		s.list[w.id.NID] = rest
	}
	s.some.Store(len(s.list) > 0)
}

// of returns the watches that were given one of these NIDs, which all belong to one node.
func (s *watches) of(names []nid.NID) (found []*watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range names {
		found = append(found, s.list[id]...)
	}
	return found
}

// all returns all watches of all processes.
func (s *watches) all() (found []*watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.list { // any order: each watch has a function of its own
		found = append(found, list...)
	}
	return found
}

// peerChanged tells the watches of a process that a connection to it was made (cause is nil), or that
// a connection ended or could not be made (cause says why). The caller holds no lock.
func (n *Node) peerChanged(peer nid.ProcessID, cause error) {
	if !n.watches.some.Load() {
		return
	}
	for _, w := range n.watches.of(n.names(peer.NID)) {
		if w.id.PID == peer.PID {
			w.look(cause, cause != nil)
		}
	}
}

// review updates some watches with the present state of their processes.
func review(watches []*watch, cause error) {
	for _, w := range watches {
		w.look(cause, false)
	}
}

// names returns the NIDs of the node that a NID belongs to.
func (n *Node) names(id nid.NID) []nid.NID {
	names := []nid.NID{id}
	if known := n.peers.knownAs(id); known != nil {
		for i := range known.NIs {
			if other := known.NIs[i].NID; other != id {
				names = append(names, other)
			}
		}
	}
	return names
}

// reach returns the state of a process, with the cause if it is down.
func (n *Node) reach(id nid.ProcessID) (state PeerState, cause error) {
	if n.own(id.NID) != nil {
		return PeerStateUp, nil
	}
	n.eachPath(id.NID, func(p *peerNI) {
		switch up, down, why := p.reach(id.PID); {
		case up:
			state, cause = PeerStateUp, nil
		case down && state == PeerStateUnknown:
			state, cause = PeerStateDown, why
		}
	})
	return state, cause
}

// watch is the state of one call of WatchPeer.
type watch struct {
	node    *Node
	id      nid.ProcessID
	f       func(PeerChange)
	stopped atomic.Bool

	mu      sync.Mutex
	state   PeerState    // the state that f was told, or is about to be told; guarded by mu, like all below
	pending []PeerChange // changes that f has not been told yet, at most two
	telling bool
}

// begin reports the present state to f. A change that comes meanwhile waits for w.mu, and so is
// reported after the present state.
func (w *watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.node.watches.add(w)
	if state, cause := w.node.reach(w.id); state != PeerStateUnknown {
		w.become(state, cmp.Or[error](cause, syscall.ENOTCONN))
		w.pending[0].Known = true
	}
	w.tell()
}

// look compares the present state with the one that f was last called with. failed says that a
// connection ended or could not be made, for the reason cause. If failed is false, look reports
// cause as the reason in case the process is no longer reachable.
func (w *watch) look(cause error, failed bool) {
	w.mu.Lock()
	// The state is read under the lock, so that no goroutine reports an older state later.
	state, why := w.node.reach(w.id)
	if state == PeerStateUnknown && (failed || w.state == PeerStateUp) {
		state = PeerStateDown // the table of peers has forgotten the process
	}
	if state != PeerStateUnknown && state != w.state {
		w.become(state, cmp.Or[error](cause, why, syscall.ENOTCONN))
	}
	if !w.telling {
		w.tell()
	}
	w.mu.Unlock()
}

// become notes a change for f. The caller holds mu.
func (w *watch) become(state PeerState, cause error) {
	w.state = state
	c := PeerChange{Up: state == PeerStateUp}
	if !c.Up {
		c.Cause = cause
	}
	if len(w.pending) == 2 {
		// The two changes that f was not told cancel each other out: the new one alone leads to the same
		// state.
		w.pending = w.pending[:0]
	}
	w.pending = append(w.pending, c)
}

// tell calls f for each pending change, also for changes that come during these calls, perhaps from f
// itself. The caller holds mu, which tell releases for each call.
func (w *watch) tell() {
	w.telling = true
	for len(w.pending) > 0 && !w.stopped.Load() {
		c := w.pending[0]
		w.pending = append(w.pending[:0], w.pending[1:]...)
		w.mu.Unlock()
		w.f(c)
		w.mu.Lock()
	}
	w.telling = false
}
