package lnet

import (
	"fmt"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// errRestarted ends connections to an earlier incarnation of a node.
var errRestarted = fmt.Errorf("the node has started again: %w", syscall.ESTALE)

// noteIncarnation ends the connections to the earlier incarnation of a node when a NID is heard with another incarnation than
// before. A message on such a connection would be lost, and only its loss would end the connection. The NIs of a node that runs
// ulnet have its incarnation. Each NI of a kernel node has one of its own, so that only connections to that NI end. For the
// same reason the first message from a NID ends no connection to the other NIDs of its node.
func (ni *NI) noteIncarnation(p *peerNI, d *lnd.Delivery) {
	if d.Incarnation == p.remote.incarnation.Load() || d.Incarnation == 0 || d.From.PID != nid.LustrePID {
		return
	}
	if ended := p.remote.reincarnate(d.Incarnation); ended != 0 {
		ni.node.closePeer(p.nid, ended, errRestarted)
	}
}

// reincarnate notes the incarnation of a message. It returns the incarnation that was known before, if that has
// ended, otherwise 0. A message of the incarnation before the present one changes nothing: it comes late, from a
// connection that has ended.
func (r *remote) reincarnate(incarnation uint64) (ended uint64) {
	for {
		present := r.incarnation.Load()
		if incarnation == present || incarnation == r.earlier.Load() {
			return 0
		}
		r.earlier.Store(present) // stored first, so that a late message finds its incarnation in earlier
		if r.incarnation.CompareAndSwap(present, incarnation) {
			return present
		}
	}
}
