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

const (
	RTT = time.Millisecond       // round-trip time of measurements
	Tau = 200 * time.Millisecond // τ, the aggregation interval, by default
)

// Measured has the parameters that measurements share: of one zone or, with supervisors, of
// several.
type Measured struct {
	Nodes       int         // number of nodes, including supervisors
	Supervisors int         // of these, the number of supervisors, which form the management zone
	Zones       int         // number of base zones; 0: one
	Stub        int         // members of each base zone, only one of which is a node; 0: all members are nodes
	Seed        uint64      // seed of the run
	Zone        zone.Config // configuration of all nodes
	Poll        func()      // is called now and then during a run
}

// patience is how long a measurement waits for a condition.
const patience = 2 * time.Minute

func (m Measured) net() (*Net, error) {
	return New(Config{
		Network: scenario.Network{Nodes: m.Nodes, Seed: m.Seed, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: RTT / 2}}}}, Supervisors: m.Supervisors, Zones: m.Zones, Stub: m.Stub, Zone: m.Zone,
	})
}

// start makes a network and runs it until all views and, if there is one, the hierarchy are
// right.
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

// rest runs a network until its start has no more effects.
func (m Measured) rest(n *Net) error { return n.Run(n.Now() + 10*time.Second) }

// until runs a network until a condition holds. It checks the condition after each step of
// time.
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
