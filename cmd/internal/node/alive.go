package node

import (
	"context"
	"fmt"

	"ulnet/lnet/nid"
)

// Alive returns nil if the node works: a timer of its clock expires, and its state and the state of its peers
// can be read. To read these, Alive takes locks of LNet, discovery and the drivers, but no locks of the
// portal table and the modules. It returns an error if the timer does not expire before ctx ends. If another
// goroutine never releases one of these locks, Alive never returns. It sends no message, because injected
// faults could lose that message on a node that works.
func (n *Node) Alive(ctx context.Context) error {
	rang := make(chan struct{})
	timer := n.clock.AfterFunc(0, func() { close(rang) })
	defer timer.Stop()
	select {
	case <-rang:
	case <-ctx.Done():
		return fmt.Errorf("no timer of the node expires: %w", context.Cause(ctx))
	}
	_ = n.Status()
	_ = n.Peers(nid.NID{}, 1)
	return nil
}
