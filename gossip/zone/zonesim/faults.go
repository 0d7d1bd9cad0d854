package zonesim

import (
	"iter"
	"time"

	"ulnet/lnd/sim"
)

// faults is the ground truth: the faults of nodes and links that excuse others for removing a
// node.
type faults struct {
	clock func() time.Duration
	grace time.Duration // how long a fault that has ended is still an excuse
	nodes []nodeState
	sim.Cuts
	mended []mended
}

// mended are partitions and cuts that have ended. They stay an excuse until the time in the field until.
type mended struct {
	sim.Cuts
	until time.Duration
}

// nodeState is the ground truth about a node.
type nodeState struct {
	fine    time.Duration // time since which the node has run; never: it is down, is paused, or has left
	was     time.Duration // value that fine would have without the present pause
	pausing time.Duration // beginning of the latest pause
	resumed time.Duration // end of the latest pause that has ended
	ended   time.Duration // when an incarnation of the node last ended
	went    time.Duration // when an incarnation of the node last ended or said goodbye, whichever came first
	over    uint64        // number of the latest incarnation that has ended or said goodbye
	slowing time.Duration // beginning of the latest period in which the node was slow
	slowed  time.Duration // end of that period; never: the node is still slow, or was never slow
	slow    bool
	read    time.Duration // when the message was sent that the node has processed last; never: not known, as on stacks
	left    bool          // the node has said goodbye
	monitor bool          // the node has declared itself a monitor
}

// never is the time of an event that has not happened.
const never = time.Duration(-1)

func (t *faults) init(nodes int, clock func() time.Duration, grace time.Duration) {
	t.clock, t.grace, t.nodes = clock, grace, make([]nodeState, nodes)
	for i := range t.nodes {
		t.nodes[i] = nodeState{fine: never, was: never, resumed: never, ended: never, went: never, slowing: never, slowed: never, read: never}
	}
}

func (t *faults) start(id sim.NodeID) {
	f := &t.nodes[id]
	f.fine, f.left, f.monitor, f.read = t.clock(), false, false, never
}

// reads records when the message was sent that a node processes now.
func (t *faults) reads(id sim.NodeID, sent time.Duration) { t.nodes[id].read = sent }

func (t *faults) watches(id sim.NodeID) { t.nodes[id].monitor = true }

// silent records that an incarnation of a node has said goodbye.
func (t *faults) silent(id sim.NodeID, inc uint64) {
	f := &t.nodes[id]
	f.fine, f.was, f.left, f.over, f.went = never, never, true, inc, t.clock()
}

// end records that an incarnation of a node has ended.
func (t *faults) end(id sim.NodeID, inc uint64) {
	f := &t.nodes[id]
	if !f.left {
		f.went = t.clock()
	}
	f.fine, f.was, f.ended, f.over = never, never, t.clock(), inc
}

func (t *faults) pause(id sim.NodeID) {
	f := &t.nodes[id]
	f.was, f.fine, f.pausing = f.fine, never, t.clock()
}

func (t *faults) resume(id sim.NodeID) {
	f := &t.nodes[id]
	f.resumed = t.clock()
	if f.was != never {
		f.fine = t.clock()
	}
}

func (t *faults) slow(id sim.NodeID, slow bool) {
	f := &t.nodes[id]
	switch {
	case slow && !f.slow:
		f.slowing, f.slowed = t.clock(), never
	case f.slow && !slow:
		f.slowed = t.clock()
	}
	f.slow = slow
}

// mend records that the present partition or all cuts end.
func (t *faults) mend() {
	if t.Some() {
		t.mended = append(t.mended, mended{t.Cuts, t.clock() + t.grace})
	}
}

// lately reports whether a fault that ended at an instant is still an excuse.
func (t *faults) lately(at, now time.Duration) bool { return at != never && now-at < t.grace }

// heard returns the earliest time at which a message can have arrived that an observer processes now. A node
// that is slow, or was paused, has messages in a queue, and its events show the state at the time when the oldest
// queued message arrived. That is not before the time at which the latest processed message was sent.
func (t *faults) heard(observer sim.NodeID) time.Duration {
	f, now := &t.nodes[observer], t.clock()
	from := now
	if f.slow || t.lately(f.slowed, now) {
		from = f.slowing
	}
	if t.lately(f.resumed, now) {
		from = min(from, f.pausing)
	}
	return max(from, min(f.read, now))
}

// excused reports whether an observer may remove a running node of its zone. The excuses are
// those that docs/scenarios.md lists for no-false-removal, and no others. A pause or slowness
// of the observer is not an excuse, but delays its events.
func (t *faults) excused(observer, subject sim.NodeID, zone iter.Seq[sim.NodeID]) bool {
	f, now := &t.nodes[subject], t.heard(observer)
	switch {
	case f.fine == never || f.slow:
		return true
	case t.lately(f.ended, now) || t.lately(f.resumed, now) || t.lately(f.slowed, now):
		return true
	}
	return t.separated(observer, subject, now, zone)
}
