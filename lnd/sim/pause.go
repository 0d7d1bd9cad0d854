package sim

import "time"

// Pause stops a node: what reaches it waits, and no timer comes, until Resume.
func (n *Network[M]) Pause(id NodeID) {
	if nd := &n.nodes[id]; nd.state&stateUp != 0 {
		nd.state |= statePaused
	}
}

// Resume ends a pause. What waits reaches the program in the order in which
// it arrived. A timer that came due meanwhile comes at a place among that
// which is drawn from the seed. By then the program may have been stepped with
// messages and have asked for another wake: that comes in this place if it is
// the earliest possible one, otherwise in its time.
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

// SetSlow makes every step of a node cost so much more CPU time; 0 ends that.
func (n *Network[M]) SetSlow(id NodeID, extra time.Duration) {
	if n.slow == nil {
		n.slow = make([]int64, len(n.nodes))
	}
	n.costs = true
	n.slow[id] = max(int64(extra), 0)
}

// Command steps a node with a Command, after what waits there if it is busy
// or paused. A node that is down does not get it, and false is returned.
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
