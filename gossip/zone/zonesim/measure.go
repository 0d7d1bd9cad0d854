package zonesim

import (
	"context"
	"fmt"
	"time"

	"ulnet/gossip/zone"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// RTT is the round-trip time of measurements.
const RTT = time.Millisecond

// Measured is what measurements have in common: one zone, or with supervisors several.
type Measured struct {
	Nodes       int         // how many, supervisors included
	Supervisors int         // of these, in the management zone
	Zones       int         // number of base zones; 0: one
	Stub        int         // members of each zone of which one is a node; 0: all are nodes
	Seed        uint64      // of the run
	Zone        zone.Config // configuration of all nodes
	Rate        int64       // of each node's own link, in bits per second; 0: unlimited
	CPU         sim.CPU     // what a step costs
	Poll        func()      // is called now and then
}

// patience is how long a measurement waits for a condition.
const patience = 2 * time.Minute

func (m Measured) net() (*Net, error) {
	return New(Config{
		Network: scenario.Network{Nodes: m.Nodes, Seed: m.Seed, AccessRate: m.Rate, CPU: m.CPU, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: RTT / 2}}}}, Supervisors: m.Supervisors, Zones: m.Zones, Stub: m.Stub, Zone: m.Zone,
	})
}

// start makes a network and lets it run until all views are right and, if there is one,
// the hierarchy is.
func (m Measured) start(ctx context.Context) (*Net, error) {
	n, err := m.net()
	if err != nil {
		return nil, err
	}
	return n, m.until(ctx, n, 10*time.Millisecond, func() (bool, string) {
		if ok, why := n.Equal(sim.AllNodes, true); !ok {
			return false, why
		}
		return n.censusRight(sim.AllNodes)
	})
}

// rest lets a network run until its start has no more effects.
func (m Measured) rest(n *Net) error { return n.Run(n.Now() + 10*time.Second) }

// until lets a network run until a condition holds, which is checked after each step.
func (m Measured) until(ctx context.Context, n *Net, step time.Duration, so func() (bool, string)) error {
	why := ""
	for end := n.Now() + patience; n.Now() < end && ctx.Err() == nil; {
		if err := n.Run(n.Now() + step); err != nil {
			return err
		}
		if m.Poll != nil {
			m.Poll()
		}
		var ok bool
		if ok, why = so(); ok {
			return nil
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("zonesim: after %v: %s", patience, why)
}

// Tau is τ.
func (m Measured) Tau() time.Duration {
	if t := m.Zone.Aggregation; t != 0 {
		return t
	}
	return 200 * time.Millisecond
}
