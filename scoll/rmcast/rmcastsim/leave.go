package rmcastsim

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/engine"
)

// leaves is called when a node starts to leave its group: the node does not join after a
// restart, and it may be counted as dead before it has finished leaving. now is by the node's
// own clock.
func (n *Net) leaves(id sim.NodeID, now time.Duration) {
	n.nodes[id].wants, n.nodes[id].excused, n.nodes[id].leaveAt = false, true, now
	n.ledger.left[n.id(id)] = true
}

// left checks the error with which a node leaves. One error is allowed because
// docs/multicast.md says: "A member waits at most `LeaveAfter`, ten seconds, for messages
// under way, its own and those that it passes on, and for a manager; then it leaves all the
// same, and is told `ErrUnfinished`." So ErrUnfinished may come after LeaveAfter, and not
// before.
func (n *Net) left(id sim.NodeID, now time.Duration, why error) {
	waited := now - n.nodes[id].leaveAt
	switch {
	case why == nil, why == engine.ErrLeft:
	case errors.Is(why, engine.ErrUnfinished) && waited >= cmp.Or(n.cfg.Rmcast.LeaveAfter, 10*time.Second):
	default:
		n.Failed(fmt.Errorf("rmcastsim: node %v has left after %v: %w", id, waited, why))
	}
}
