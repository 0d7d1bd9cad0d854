package zonesim

import (
	"context"
	"fmt"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/lnd/sim"
)

// Cut is what a partition that ends made nodes believe.
type Cut struct {
	Own    int           // removals of healthy members told by nodes of their own side
	First  string        // the first of these
	Across int           // removals of members told by nodes of the other side
	After  int           // of these, after the end of the partition
	Whole  time.Duration // from the end until the last node was told of the last change
}

// Cut separates some first nodes from the others for a while (G-MS-10) and looks on for
// as long as the watch lasts.
func (m Measured) Cut(ctx context.Context, first int, length, watch time.Duration) (c Cut, err error) {
	n, err := m.start(ctx)
	if err == nil {
		err = m.rest(n)
	}
	if err != nil {
		return c, err
	}
	begin := n.Now()
	end := begin + length
	n.cfg.Tell = func(at time.Duration, node sim.NodeID, e *engine.Event) {
		if e.Kind == engine.Joined || e.Kind == engine.Left {
			c.Whole = max(at-end, 0)
		}
		if e.Kind != engine.Left {
			return
		}
		subject, _ := n.nodeOf(e.ID)
		switch {
		case (int(node) < first) != (int(subject) < first):
			if c.Across++; at >= end {
				c.After++
			}
		default:
			if c.Own++; c.First == "" {
				c.First = fmt.Sprintf("%v after the partition began node %v removed node %v of its own side, %v", at-begin, node, subject, e.Cause)
			}
		}
	}
	n.Partition(sim.NodeRange(0, sim.NodeID(first-1)), sim.NodeRange(sim.NodeID(first), sim.NodeID(m.Nodes-1)))
	if err := n.Run(end); err != nil {
		return c, err
	}
	n.Heal()
	if err := n.Run(end + watch); err != nil {
		return c, err
	}
	if ok, why := n.Equal(sim.AllNodes, true); !ok {
		return c, fmt.Errorf("zonesim: %v after the end of a partition of %v: %s", watch, length, why)
	}
	return c, nil
}
