package gossipsim

import (
	"time"

	"ulnet/lnd/sim"
)

// truth is what was done to nodes and links, as far as it excuses that a node
// is thought dead.
type truth struct {
	clock func() time.Duration
	grace time.Duration // for which a trouble that has ended is an excuse
	nodes []fate
	fine  int     // nodes that run and have spoken
	sides []int32 // of a partition; nil: none
	// The partition before this one excuses, too.
	before      []int32
	beforeUntil time.Duration
	cuts        []severed
}

// fate is what has happened to a node.
type fate struct {
	fine  time.Duration // since when it has run and spoken; never: it does not
	spoke time.Duration // fine as it would be without the pause that lasts
	ended time.Duration // when its latest life that is over has ended
	life  uint32        // how many have begun
	down  bool
}

// severed is a cut: subjects that send and observers that receive are excused.
type severed struct {
	from, to sim.NodeSet
	until    time.Duration // never: it lasts
}

func (t *truth) init(nodes int, grace time.Duration) {
	t.clock = func() time.Duration { return 0 }
	t.grace, t.nodes = grace, make([]fate, nodes)
	for i := range t.nodes {
		t.nodes[i] = fate{fine: never, down: true, ended: never}
	}
}

func (t *truth) start(id sim.NodeID, silent bool) {
	f := &t.nodes[id]
	f.life++
	f.down = false
	if !silent {
		t.set(f, t.clock())
	}
}

// set sets since when a node is fine.
func (t *truth) set(f *fate, since time.Duration) {
	if f.fine != never {
		t.fine--
	}
	if f.fine = since; since != never {
		t.fine++
	}
}

// speaks notes that a node's silence has ended.
func (t *truth) speaks(id sim.NodeID) { t.set(&t.nodes[id], t.clock()) }

// silent notes that a node takes part no more.
func (t *truth) silent(id sim.NodeID) { t.set(&t.nodes[id], never) }

func (t *truth) end(id sim.NodeID) {
	f := &t.nodes[id]
	t.set(f, never)
	f.ended, f.down = t.clock(), true
}

func (t *truth) pause(id sim.NodeID) {
	f := &t.nodes[id]
	f.spoke = f.fine
	t.set(f, never)
}

func (t *truth) resume(id sim.NodeID) {
	f := &t.nodes[id]
	if f.spoke != never {
		t.set(f, t.clock())
	}
}

func (t *truth) partition(sets []sim.NodeSet) {
	t.endPartition()
	t.sides = make([]int32, len(t.nodes))
	for i, s := range sets {
		for id := range s.All(len(t.nodes)) {
			t.sides[id] = int32(i + 1)
		}
	}
}

func (t *truth) endPartition() {
	if t.sides != nil {
		t.before, t.beforeUntil, t.sides = t.sides, t.clock()+t.grace, nil
	}
}

func (t *truth) cut(from, to sim.NodeSet) { t.cuts = append(t.cuts, severed{from, to, never}) }

func (t *truth) heal() {
	t.endPartition()
	for i := range t.cuts {
		if t.cuts[i].until == never {
			t.cuts[i].until = t.clock() + t.grace
		}
	}
}

// excused reports whether something excuses that an observer thinks a node
// dead. That the observer itself was paused does not.
func (t *truth) excused(observer, subject sim.NodeID) bool {
	f, now := &t.nodes[subject], t.clock()
	return f.fine == never || now-f.fine < t.grace || t.apart(observer, subject, now)
}

// apart reports whether two nodes are separated, or were until recently.
func (t *truth) apart(observer, subject sim.NodeID, now time.Duration) bool {
	if s := t.sides; s != nil && s[observer] != s[subject] {
		return true
	}
	if s := t.before; s != nil && now < t.beforeUntil && s[observer] != s[subject] {
		return true
	}
	for _, c := range t.cuts {
		if (c.until == never || now < c.until) && (c.from.Has(subject) || c.to.Has(observer)) {
			return true
		}
	}
	return false
}

// reachable is how many nodes a node could hear of, itself included. Where they
// are few, gossip is thin: most pings go to those that are gone, and what is
// heard of the others is old.
func (t *truth) reachable(from sim.NodeID) (count int) {
	now := t.clock()
	if t.sides == nil && t.before == nil && t.cuts == nil {
		return t.fine
	}
	for id := range t.nodes {
		if f := &t.nodes[id]; f.fine != never && !t.apart(from, sim.NodeID(id), now) {
			count++
		}
	}
	return count
}
