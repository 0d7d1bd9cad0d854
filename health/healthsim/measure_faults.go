package healthsim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ulnet/health"
	"ulnet/lnd/sim"
)

// Rehoming is how the clients of a dead master found another (G-CH-4).
type Rehoming struct {
	Bound   time.Duration   // T_client, two round trips and what the first answer takes
	Took    []time.Duration // from the death, ascending
	Evicted uint64
}

// Share is the time within which a share of them had another master.
func (r *Rehoming) Share(p float64) time.Duration {
	if len(r.Took) == 0 {
		return 0
	}
	return r.Took[min(int(p*float64(len(r.Took))), len(r.Took)-1)]
}

// Rehome kills a master and waits for its clients.
func (m Measured) Rehome(ctx context.Context) (r Rehoming, err error) {
	var died time.Duration
	cfg := m.config()
	cfg.OnClient = func(at time.Duration, _ sim.NodeID, e *health.ClientEvent) {
		if died > 0 && e.Kind == health.MasterChosen {
			r.Took = append(r.Took, at-died)
		}
	}
	n, err := m.start(cfg)
	if err != nil {
		return r, err
	}
	const roundTrip = 4 * time.Millisecond // of Flat, and a little
	r.Bound = n.timing.Client + 3*roundTrip
	died = n.Now()
	n.Crash(sim.NodeID(m.Seed % uint64(m.Servers)))
	if err := m.pass(ctx, n, n.timing.Orphan+n.timing.Evict); err != nil {
		return r, err
	}
	slices.Sort(r.Took)
	r.Evicted = n.Verdict().Evicted
	if ok, why := n.Settled(sim.AllNodes); !ok {
		return r, fmt.Errorf("healthsim: after the death of a master %s", why)
	}
	return r, nil
}

// Split is what a partition of servers did to clients that reach all of them
// (G-CH-6).
type Split struct {
	Bound    time.Duration // T_q and T_orphan, from when discovery has noticed
	Majority int           // clients whose master was in the majority
	Minority int           // the others
	Evicted  int           // of the majority's, there
	Rehomed  int           // of the minority's, with a master in the majority at the end
	Neither  int           // clients that are neither connected to the majority nor evicted everywhere
	Held     int           // clients that the minority still holds
}

// Split cuts the last two fifths of the servers off from the others.
func (m Measured) Split(ctx context.Context) (s Split, err error) {
	n, err := m.start(m.config())
	if err != nil {
		return s, err
	}
	first := sim.NodeID(m.Servers - m.Servers*2/5)
	majority, minority := sim.NodeRange(0, first-1), sim.NodeRange(first, sim.NodeID(m.Servers-1))
	var inMajority []sim.NodeID
	for id := range n.each(sim.AllNodes) {
		if majority.Has(nodeOfNID(n.client(id).Status().Master)) {
			inMajority = append(inMajority, id)
		}
	}
	s.Majority, s.Minority = len(inMajority), m.Clients-len(inMajority)
	n.Cut(majority, minority)
	n.Cut(minority, majority)
	s.Bound = n.timing.Quorum + n.timing.Orphan
	if err := m.pass(ctx, n, n.cfg.Discovery+s.Bound); err != nil {
		return s, err
	}
	for _, id := range inMajority {
		if n.ledger.of(id).evicted > 0 {
			s.Evicted++
		}
	}
	for id := range n.each(sim.AllNodes) {
		home := majority.Has(nodeOfNID(n.client(id).Status().Master)) && n.client(id).Status().State == "settled"
		if home && !slices.Contains(inMajority, id) {
			s.Rehomed++
		}
		if gone, _ := n.forgotten(sim.Nodes(id), sim.AllNodes); !home && !gone {
			s.Neither++
		}
		if gone, _ := n.forgotten(sim.Nodes(id), minority); !gone {
			s.Held++
		}
	}
	return s, nil
}
