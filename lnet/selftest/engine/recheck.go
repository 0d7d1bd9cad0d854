package engine

import (
	"slices"
	"syscall"
)

// recheck drops the waiting requests of nodes that are no longer allowed, and ends the session if its
// console, or a destination of its tests, is no longer allowed. It gives up a Join with a console that
// is no longer allowed. Requests that arrive later are checked anyway.
func (n *Node) recheck() {
	n.waiting = n.ofAllowed(n.waiting)
	n.brw.waiting = n.ofAllowed(n.brw.waiting)
	if j := n.joining; j != nil && !n.cfg.Allow(j.in.Peer.NID) {
		n.stats.NotAllowed++
		n.do(Effect{Kind: DoCancel, ID: j.id})
		n.endJoin(Joined{Errno: syscall.EPERM})
	}
	if t := n.fetching; t != nil && !n.cfg.Allow(t.of.peer.NID) {
		n.stats.NotAllowed++
		n.cancelFetch()
	}
	if s := n.session; s != nil && !n.allows(s) {
		n.stats.NotAllowed++
		n.end()
		n.do(Effect{Kind: DoTellEnd, Peer: s.maker})
	}
	n.nextBRW() // requests may have waited behind one that is dropped
}

// ofAllowed drops the requests of nodes that are not allowed, and returns the others.
func (n *Node) ofAllowed(waiting []request) []request {
	return slices.DeleteFunc(waiting, func(q request) bool {
		if n.cfg.Allow(q.peer.NID) {
			return false
		}
		n.stats.NotAllowed++
		n.drop()
		return true
	})
}

// allows reports whether the console of a session and all destinations of its tests are allowed.
func (n *Node) allows(s *session) bool {
	refused := func(u *unit) bool { return !n.cfg.Allow(u.dest.NID) }
	return n.cfg.Allow(s.maker.NID) && !slices.ContainsFunc(s.batches, func(b *batch) bool {
		return slices.ContainsFunc(b.tests, func(t *test) bool { return slices.ContainsFunc(t.units, refused) })
	})
}
