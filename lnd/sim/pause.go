package sim

import "time"

// Pause stops a node: what reaches it waits, and no timer comes, until Resume.
func (n *Network[M]) Pause(id NodeID) {
	if nd := &n.nodes[id]; nd.state&stateUp != 0 {
		nd.state |= statePaused
	}
}

// Resume ends a pause. The program gets the waiting messages in the order in which they
// arrived. A timer that came due during the pause runs before, between or after them, at a position
// drawn from the seed. If a message before that position makes the program set another wake, the
// timer runs at this position only if the wake is the earliest possible instant; a later wake runs
// at its own time.
func (n *Network[M]) Resume(id NodeID) {
	nd := &n.nodes[id]
	if nd.state&statePaused == 0 {
		return
	}
	nd.state &^= statePaused
	if nd.wake <= n.now {
		nd.turn = 1 + n.rng.Int32N(nd.waiting+1)
	}
	n.drain(id)
}

// SetSlow adds extra to the CPU time of every step of a node; 0 ends that.
func (n *Network[M]) SetSlow(id NodeID, extra time.Duration) {
	if n.slow == nil {
		n.slow = make([]int64, len(n.nodes))
	}
	n.costs = true
	n.slow[id] = max(int64(extra), 0)
}

// Command steps a node with a Command. If the node is busy or paused, the Command comes after what
// waits there already. It returns false if the node is down.
func (n *Network[M]) Command(id NodeID, text string) bool {
	nd := &n.nodes[id]
	if nd.state&stateUp == 0 || n.err != nil {
		return false
	}
	i, f := n.flights.take()
	f.kind, f.from, f.to, f.incarnation = Command, id, id, nd.incarnation
	if n.commands == nil {
		n.commands = make(map[int32]string)
	}
	n.commands[i] = text
	n.arrive(id, i)
	return true
}
