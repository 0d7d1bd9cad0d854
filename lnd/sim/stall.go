package sim

import (
	"slices"
	"time"
)

// stall makes the messages of some paths wait until an instant.
type stall struct {
	from, to NodeSet
	until    int64
}

// Stall makes all messages that are sent from one set of nodes to another during a time wait. They leave at its end,
// as those in the sockets of TCP connections do when a cable is plugged in again. Messages that are on their way still
// arrive, and cuts lose messages all the same.
func (n *Network[M]) Stall(from, to NodeSet, d time.Duration) {
	n.stalls = slices.DeleteFunc(n.stalls, func(s stall) bool { return s.until <= n.now })
	n.stalls = append(n.stalls, stall{from, to, later(n.now, max(int64(d), 0))})
}

// leaves returns when a message leaves that one node sends to another at an instant.
func (n *Network[M]) leaves(from, to NodeID, at int64) int64 {
	for i := range n.stalls {
		if s := &n.stalls[i]; s.from.Has(from) && s.to.Has(to) {
			at = max(at, s.until)
		}
	}
	return at
}
