package engine

// Bounds of what a message's clock may be.
const (
	// maxClock is the lowest clock that is neither accepted nor kept. At the shortest interval and the
	// fastest pace, a clock needs more than 800 years to reach it by itself.
	maxClock = 1 << 40
	maxJump  = 1 << 20 // how far ahead the clock of the only other participant may be at most, once this node is in sync with it
)

// clockRate is about how many units the clock advances in a cycle, and fastest is an upper
// bound of that.
const (
	clockRate = 5
	fastest   = 8
)

// lamport is the clock of global gossip cycles (gossip design, Lamport clock). It
// runs at four to six units a cycle, because a ping and its reply each add one
// to the tick.
type lamport struct {
	value uint64
	// The two peers that were last in step with this node (see step.go), the latest first, and this
	// node's cycles in which they were in step.
	peers  [2]int
	cycles [2]uint64
	since  uint64 // this node's cycle in which it was last in sync, or in which lost was last called

	// tokens is by how many units messages may still advance the clock of a node that is in sync
	// (token bucket). Without the limit, one peer alone could move the clock away from all
	// others.
	tokens uint64
	claims claims
	ahead  uint64 // this node's cycle since which only clocks far ahead have arrived, and none in step; 0 if a clock in step has arrived
}

// tick begins a cycle.
func (c *lamport) tick(cycle uint64, l *Limits, peers int) {
	c.value++
	c.tokens = min(c.tokens+fastest, uint64(max(l.Obsolete/2, fastest)))
	if c.inSync(cycle, l.Dead, peers) {
		c.since = cycle
	}
}

// sync advances this node's clock to one above header, the clock of an accepted message, unless it is
// higher already. If limited is true, the clock advances by at most c.tokens units, and each unit
// takes one token.
func (c *lamport) sync(header uint64, limited bool) {
	if header < c.value {
		return
	}
	step := header + 1 - c.value
	if limited {
		step = min(step, c.tokens)
		c.tokens -= step
	}
	c.value += step
}

// note remembers that a peer was in step with this node.
func (c *lamport) note(peer int, cycle uint64) {
	if c.cycles[0] == 0 || c.peers[0] != peer {
		c.peers[1], c.cycles[1] = c.peers[0], c.cycles[0]
	}
	c.peers[0], c.cycles[0] = peer, cycle
}

// inSync reports whether two peers were in step with this node within the last cycles; the parameter within is
// the number of these cycles. If there is only one other participant, that one suffices.
func (c *lamport) inSync(cycle uint64, within, peers int) bool {
	last := c.cycles[min(1, peers-1)]
	return last > 0 && cycle-last <= uint64(within)
}

// inStep returns how many of the two peers that were most recently in step with this node were in step within the
// last cycles; the parameter within is the number of these cycles.
func (c *lamport) inStep(cycle uint64, within int) (n int) {
	for _, last := range c.cycles {
		if last > 0 && cycle-last <= uint64(within) {
			n++
		}
	}
	return n
}

// lost forgets which peers were in step and which were not, after this node's clock stood still or was
// set.
func (c *lamport) lost(cycle uint64) {
	c.cycles, c.since, c.ahead, c.claims = [2]uint64{}, cycle, 0, c.claims[:0]
}
