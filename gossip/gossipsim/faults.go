package gossipsim

import (
	"time"

	"ulnet/lnd/sim"
)

// faults is the ground truth: the faults of nodes and links that excuse an observer for
// considering a node dead. docs/gossip.md, "When a node counts as dead", lists all excuses:
//
//	the node does not run, is silent after its start or is paused       nodeState.fine
//	no path leads from it to the observer, not even over others         links.leads
//	most direct links of the node, or of the observer, are cut          links.linked
//	the observer is silent after its start                              nodeState.silent
//	one of these has ended so lately that news of it may be under way   grace
//	parts come together that were apart for long                        links.rejoined, links.moved
//	more than six of ten have just failed at once; counts once          few
//
// Nothing else is an excuse. In particular these are none: many other nodes are dead or out of reach, messages are
// lost, or the observer itself was paused.
type faults struct {
	clock func() time.Duration
	grace time.Duration
	nodes []nodeState
	links links
	once  map[[2]sim.NodeID]time.Duration // by observer and subject: the latest false death that few excused
}

// never marks an event that does not happen.
const never = time.Duration(-1)

// nodeState is the ground truth about a node.
type nodeState struct {
	fine  time.Duration // time since when the node has run and sent messages; never: it does not do so now
	spoke time.Duration // value that fine would have without the present pause
	ended time.Duration // when an incarnation of the node last ended
	down  bool
	// silent is set while the silence after the node's start lasts; loud is when that silence
	// ended.
	silent bool
	loud   time.Duration
}

func (t *faults) init(nodes int, grace time.Duration, clock func() time.Duration) {
	t.clock, t.grace, t.nodes, t.once = clock, grace, make([]nodeState, nodes), make(map[[2]sim.NodeID]time.Duration)
	for i := range t.nodes {
		t.nodes[i] = nodeState{fine: never, down: true, ended: never}
	}
	t.links.init(nodes, grace)
}

func (t *faults) start(id sim.NodeID, silent bool) {
	f := &t.nodes[id]
	f.down, f.silent, f.loud = false, silent, never
	if !silent {
		t.set(id, t.clock())
	}
}

// set sets the instant since which a node is fine.
func (t *faults) set(id sim.NodeID, since time.Duration) {
	f := &t.nodes[id]
	was := f.fine != never
	f.fine = since
	if is := since != never; is != was {
		t.links.relay(id, is, t.clock())
	}
}

// speaks records that a node's silence has ended.
func (t *faults) speaks(id sim.NodeID) {
	t.nodes[id].silent, t.nodes[id].loud = false, t.clock()
	t.set(id, t.clock())
}

// silent records that a node has stopped taking part.
func (t *faults) silent(id sim.NodeID) { t.set(id, never) }

func (t *faults) end(id sim.NodeID) {
	t.set(id, never)
	f := &t.nodes[id]
	f.ended, f.down = t.clock(), true
}

func (t *faults) pause(id sim.NodeID) {
	t.nodes[id].spoke = t.nodes[id].fine
	t.set(id, never)
}

func (t *faults) resume(id sim.NodeID) {
	if t.nodes[id].spoke != never {
		t.set(id, t.clock())
	}
}

// excused reports whether a fault excuses that an observer considers a node dead.
func (t *faults) excused(observer, subject sim.NodeID) bool {
	f, o, now := &t.nodes[subject], &t.nodes[observer], t.clock()
	switch {
	case f.fine == never, now-f.fine < t.grace:
		return true
	case o.silent, o.loud != never && now-o.loud < t.grace:
		return true
	}
	if t.links.rejoined(subject, observer, now-t.grace, now) || t.links.moved(observer, now-t.grace, now) {
		return true
	}
	return t.links.apart(subject, observer, now-t.grace)
}

// few reports whether more than six of ten nodes have just failed, or were just cut off from an observer, before it
// could notice the first of these losses. Nodes that it lost earlier do not count. False deaths in that time are
// counted separately. Each of the others may count as dead once: few records that, and is false the second time.
func (t *faults) few(observer, subject sim.NodeID) bool {
	count, left, first, latest := t.links.lost(observer, t.clock())
	if 10*count <= 6*(count+left) || t.clock()-latest >= t.grace {
		return false
	}
	pair := [2]sim.NodeID{observer, subject}
	last, again := t.once[pair]
	t.once[pair] = t.clock()
	return !again || last < first
}
