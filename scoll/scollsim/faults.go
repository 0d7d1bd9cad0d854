package scollsim

import (
	"maps"
	"slices"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// faults is the ground truth for the condition missing-right: what was wrong with nodes, links
// and services, and when.
type faults struct {
	net   *Net
	nodes []nodeFaults
	links kit.LinkHistory
	// met has, in networks of stacks, the pairs of a parent and its child over whose connection an answer has
	// come, and the time of the first broadcast result with such an answer.
	met map[[2]sim.NodeID]time.Duration
}

// nodeFaults is the ground truth about one node.
type nodeFaults struct {
	down, paused, slow, skewed bool
	// last is when the node was last down, paused or slow, or when the others had learned of its return.
	last     time.Duration
	aborted  time.Duration // when the node last executed the verb "abort"; never: it has not
	services []serviceChange
}

// serviceChange is a change of the behaviour of a node's service.
type serviceChange struct {
	at time.Duration
	behaviour
}

// never is an instant before all others.
const never = time.Duration(-1)

func (f *faults) init(n *Net) {
	f.net, f.nodes, f.met = n, make([]nodeFaults, n.cfg.Nodes), make(map[[2]sim.NodeID]time.Duration)
	for id := range f.nodes {
		f.nodes[id] = nodeFaults{down: true, last: never, aborted: never, services: []serviceChange{{at: never}}}
	}
}

// happens records an act.
func (f *faults) happens(a *sim.Act) {
	switch a.Verb {
	case sim.Kill, sim.Crash, sim.Pause, sim.Resume, sim.Slow, sim.Skew:
		f.nodes[a.Node].happens(a, f.net.Now())
	case sim.Partition, sim.Cut, sim.Heal, sim.SetLink, sim.ResetLinks, sim.Stall:
		f.links.Happens(a, f.net.Now(), f.net.cfg.Nodes)
		maps.DeleteFunc(f.met, func(pair [2]sim.NodeID, _ time.Duration) bool { return f.poor(pair[0], pair[1], f.net.Now()) })
	}
}

func (f *nodeFaults) happens(a *sim.Act, now time.Duration) {
	switch a.Verb {
	case sim.Kill, sim.Crash:
		f.down, f.paused = f.down || a.Changes, f.paused && !a.Changes
	case sim.Pause:
		f.paused = f.paused || a.Changes
	case sim.Resume:
		f.paused, f.last = false, max(f.last, now)
	case sim.Slow:
		f.slow, f.last = a.Extra > 0, max(f.last, now)
	case sim.Skew:
		f.skewed = a.PPM != 0
	}
}

// isSlow reports whether a node is slow, or has a wrong clock.
func (f *nodeFaults) isSlow() bool { return f.slow || f.skewed }

// began records that an incarnation of a node begins. After twice the time of discovery, all others have
// learned that the earlier incarnation died and that the node has returned, see oracle. Until then the node
// counts as impaired.
func (f *faults) began(id sim.NodeID) {
	node, now := &f.nodes[id], f.net.Now()
	if node.down = false; now > 0 {
		node.last = now + 2*f.net.cfg.Discovery
	}
	maps.DeleteFunc(f.met, func(pair [2]sim.NodeID, _ time.Duration) bool { return slices.Contains(pair[:], id) })
}

// behaves records what the service of a node does from now on.
func (f *faults) behaves(id sim.NodeID, b behaviour) {
	f.nodes[id].services = append(f.nodes[id].services, serviceChange{f.net.Now(), b})
}

// impaired reports whether a node was down, paused or slow at any time since an instant.
func (f *faults) impaired(id sim.NodeID, since time.Duration) bool {
	node := &f.nodes[id]
	return node.down || node.paused || node.slow || node.last >= since
}

// did returns what the service of a node did at any time since an instant.
func (f *faults) did(id sim.NodeID, since time.Duration) (list []serviceChange) {
	changes := f.nodes[id].services
	for i, s := range changes {
		if i+1 == len(changes) || changes[i+1].at >= since {
			list = append(list, s)
		}
	}
	return list
}

// minReconnect is the time for which, "after a refused connection LNet does not try that peer
// again" (docs/collectives.md).
const minReconnect = time.Second

// stranger reports whether two nodes, with stacks, have no connection that is known to work at an instant.
// The first message opens a connection, which takes one round trip more than the timeout T allows. After a
// restart or a cut that message may be lost, because the connection is to the earlier incarnation or was
// given up.
func (f *faults) stranger(child, parent sim.NodeID, at time.Duration) bool {
	met, ok := f.met[[2]sim.NodeID{parent, child}]
	return f.net.cfg.Stacks && (!ok || met > at || f.poor(child, parent, at-minReconnect))
}

// poor reports whether, at any time since an instant, messages between two nodes were lost, or
// could take longer for the way there and back than nodes think.
func (f *faults) poor(a, b sim.NodeID, since time.Duration) bool {
	if f.links.Stalled(a, b, since) || f.links.Stalled(b, a, since) {
		return true
	}
	for s := range f.links.Since(since) {
		there, ok := f.longest(s, a, b)
		back, ok2 := f.longest(s, b, a)
		if !ok || !ok2 || there+back > f.net.cfg.Scoll.RTT {
			return true
		}
	}
	return false
}

// longest returns how long a message may take from one node to another; ok is false if it may be
// lost.
func (f *faults) longest(s *kit.LinkState, from, to sim.NodeID) (d time.Duration, ok bool) {
	q := s.Quality(*f.net.cfg.Topology.Route(from, to).Link, from, to)
	if d = q.Latency.Max(); q.Reorder > 0 {
		hold := q.Hold.Max()
		if q.Hold == (link.Dist{}) {
			hold = link.DefaultHold + d
		}
		d += hold
	}
	return d, q.Loss == 0 && !s.Apart(from, to)
}
