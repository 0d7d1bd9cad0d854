package sim

// arm pushes an evTimer for a node's wake, because the node's timers in the queue come too late
// for it. It stores in rearm the timer that was to come first, unless an earlier one is stored
// there. After a short timer a program often waits again for the same long one, which then
// needs no further event.
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

// timer handles the evTimer of a node. Only the one that the node is armed
// with counts, others are left over from earlier wakes.
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
