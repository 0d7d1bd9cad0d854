package zonesim

import (
	"context"
	"fmt"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/lnd/sim"
)

// Spread says how fast an attribute reaches all nodes.
type Spread struct {
	Mean, Last time.Duration // time from the write until a node has the attribute: on average, and for the last node
	Received   float64       // number of entries received, divided by the number of nodes that need one
}

// Write makes some nodes write an attribute, one after the other (G-MS-7).
func (m Measured) Write(ctx context.Context, writes int) (s Spread, err error) {
	n, err := m.start(ctx)
	if err != nil {
		return s, err
	}
	if err := m.rest(n); err != nil {
		return s, err
	}
	entries, sum, told := n.Counters().Entries, time.Duration(0), 0
	for k := range writes {
		begin, writer := n.Now(), sim.NodeID((m.Seed+uint64(k)*7919)%uint64(m.Nodes))
		before := told
		n.cfg.Tell = func(at time.Duration, node sim.NodeID, e *engine.Event) {
			if id, _ := n.nodeOf(e.ID); e.Kind == engine.AttributesChanged && id == writer && node != writer {
				sum, told = sum+at-begin, told+1
				s.Last = max(s.Last, at-begin)
			}
		}
		n.Command(writer, fmt.Sprintf("set key value%d", k))
		err := m.until(ctx, n, 10*time.Millisecond, func() (bool, string) {
			return told-before == m.Nodes-1, fmt.Sprintf("%d of %d nodes have the attribute", told-before, m.Nodes-1)
		})
		if err != nil {
			return s, err
		}
		// The seed determines how far into a round (τ) the next write begins.
		if err := n.Run(n.Now() + 3*time.Second + time.Duration(m.Seed*31%200)*time.Millisecond); err != nil {
			return s, err
		}
	}
	s.Mean = sum / time.Duration(max(told, 1))
	s.Received = float64(n.Counters().Entries-entries) / float64(writes*(m.Nodes-1))
	return s, nil
}
