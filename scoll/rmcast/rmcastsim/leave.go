package rmcastsim

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/engine"
)

// leaves is called when a node starts to leave its group: the node does not join after a restart. now is by the node's
// own clock.
func (n *Net) leaves(id sim.NodeID, now time.Duration) {
	m := &n.nodes[id]
	s, ok := n.Status(id)
	m.wants, m.leaving, m.leaveAt, m.toldAt, m.healedAt = false, ok && s.State != "out", now, n.Now(), m.healed
}

// leaveAfter is how long members may take to leave.
func (n *Net) leaveAfter() time.Duration { return cmp.Or(n.cfg.Rmcast.LeaveAfter, 10*time.Second) }

// mayStop reports whether a node that was told to leave may stop before it has finished: "A member waits at most
// `LeaveAfter`, ten seconds, for messages under way, its own and those that it passes on, and for a manager; then it
// leaves all the same" (docs/multicast.md). Its clock may be a little wrong.
func (n *Net) mayStop(id sim.NodeID) bool {
	m := &n.nodes[id]
	return m.leaving && n.Now()-m.toldAt >= n.leaveAfter()*99/100
}

// stopped is called when a node has left, before it has another ID. It records whether the member may lack messages that
// were in flight: "A member that leaves first finishes its own messages and those that it passes on" (docs/multicast.md).
func (n *Net) stopped(id sim.NodeID) {
	failed := n.mayFail(id)
	n.ledger.left[n.id(id)] = n.mayStop(id) || failed
	n.nodes[id].leaving, n.nodes[id].failed = false, failed || n.ledger.outvoted(n.id(id))
}

// left checks the error with which a node leaves, after stopped. One error is allowed, ErrUnfinished, because
// docs/multicast.md says: "A member waits at most `LeaveAfter`, ten seconds, for messages
// under way, its own and those that it passes on, and for a manager; then it leaves all the
// same, and is told `ErrUnfinished`. It is told so as well if the manager counts it as failed
// while its own messages are under way." So it may come before LeaveAfter only if the manager
// may have counted the node as failed, see mayFail.
func (n *Net) left(id sim.NodeID, now time.Duration, why error) {
	waited := now - n.nodes[id].leaveAt
	switch {
	case why == nil, why == engine.ErrLeft:
	case errors.Is(why, engine.ErrUnfinished) && (n.nodes[id].failed || waited >= n.leaveAfter()):
	default:
		n.Failed(fmt.Errorf("rmcastsim: node %v has left after %v: %w", id, waited, why))
	}
}

// mayFail reports whether managers may count a leaving node as failed. They may for a while after a fault of
// the node or its links, and as long as not all of them have heard of its restart. They also may if the
// node's manager was silent, because then "the member gives its membership up (`healed`), and so has ended"
// (docs/multicast.md), and when gossip was certain of its death, see gossip.ends.
func (n *Net) mayFail(id sim.NodeID) bool {
	m := &n.nodes[id]
	return n.mayExpel(id, m.toldAt) || m.healed > m.healedAt || n.ledger.died[n.id(id)]
}
