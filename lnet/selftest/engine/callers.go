package engine

import (
	"slices"
	"time"

	"ulnet/lnet/selftest/wire"
)

// mostDelay is the longest that a unit waits after RPCs that failed, unless RetryDelay is longer.
const mostDelay = time.Second

// callers are the units that send RPCs, as far as there is memory for their bulk data.
type callers struct {
	taken   int     // bytes of bulk data of the RPCs under way, as the method memory counts them
	waiting []*unit // units that run and whose next RPC waits for memory
}

// queue makes a unit send its next RPC. An RPC without bulk data is sent at once. An RPC with bulk
// data is sent when there is memory for them, at the end of this step at the earliest.
func (n *Node) queue(u *unit) {
	if u.test.memory() == 0 {
		n.call(u)
		return
	}
	n.callers.waiting = append(n.callers.waiting, u)
}

// callWaiting sends the RPCs of the units that wait, in their order, as far as there is memory.
// It is called at the end of each step, after RPCs that have ended have returned their memory.
func (n *Node) callWaiting() {
	done := 0
	for _, u := range n.callers.waiting {
		if n.callers.taken+u.test.memory() > n.cfg.MaxBulk {
			break
		}
		n.call(u)
		done++
	}
	clear(n.callers.waiting[:done])
	n.callers.waiting = n.callers.waiting[done:]
}

// leave takes units that do not run any more out of the queue.
func (n *Node) leave() {
	n.callers.waiting = slices.DeleteFunc(n.callers.waiting, func(u *unit) bool { return !u.running })
}

// memory returns what an RPC of a test counts for against MaxBulk. An RPC without bulk data
// counts for nothing: MaxUnits bounds their number.
func (t *test) memory() int {
	if t.service != wire.BRWService {
		return 0
	}
	return max(int(bulkLength(&t.params, t.features))+int(t.params.Offset%pageSize), pageSize)
}

// retryDelay returns how long a unit waits after a number of RPCs that failed one after the
// other: twice as long after each.
func (n *Node) retryDelay(failed int) time.Duration {
	delay := n.cfg.RetryDelay
	for range min(failed-1, 30) {
		delay = min(2*delay, max(mostDelay, n.cfg.RetryDelay))
	}
	return delay
}
