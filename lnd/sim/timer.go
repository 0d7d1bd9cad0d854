package sim

// arm pushes an evTimer for a node's wake. Its caller has found that the node's timers in the queue
// come too late for this wake. After a short timer a program often waits again for the same long
// one, whose event is then still in the queue. So arm keeps in rearm the latest of the timers that
// the new one precedes, and the node is armed with that one again when the new one has expired.
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
	case nd.wake > at: // the program wants its next step after this timer or, if the node is down, never
		if nd.wake < nd.armed {
			n.arm(id)
		}
	case nd.state == stateUp|stateHost:
		n.input(Timer)
		n.step(id, 0)
	}
}
