package sim

// arm pushes an evTimer for a node's wake, because the timers of the node in the queue come too
// late for the wake. It stores in rearm the timer that was to come first, unless an earlier one is
// stored there: after a short timer a program often waits again for the same long one, whose event
// is then in the queue already.
func (n *Network[M]) arm(id NodeID) {
	nd := &n.nodes[id]
	switch {
	case nd.armed == never:
	case nd.rearm == never || nd.armed > nd.rearm:
		nd.rearm = nd.armed
	}
	nd.armed = nd.wake
	n.queue.push(newEvent(nd.wake, evTimer, id, 0))
}

// timer handles an evTimer of a node. Only the timer that the node is armed with counts; other ones
// are left over from earlier wakes.
func (n *Network[M]) timer(id NodeID, at int64) {
	nd := &n.nodes[id]
	if nd.armed != at {
		return
	}
	nd.armed, nd.rearm = nd.rearm, never
	switch {
	case nd.wake > at: // the wake is later; never, if the node is down
		if nd.wake < nd.armed {
			n.arm(id)
		}
	case nd.state == stateUp|stateHost:
		n.input(Timer)
		n.step(id, 0)
	}
}
