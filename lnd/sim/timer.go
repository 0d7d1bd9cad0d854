package sim

// arm pushes the evTimer for a node's wake, which none comes early enough for.
// The one that was to come first is remembered if it is the later of those
// known, for a program often falls back on it: otherwise every short timer
// before a long one would leave an event behind.
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
	case nd.wake > at: // also when it is down
		if nd.wake < nd.armed {
			n.arm(id)
		}
	case nd.state == stateUp|stateHost:
		n.input(Timer)
		n.step(id, 0)
	}
}
