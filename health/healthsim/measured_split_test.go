package healthsim

import (
	"context"
	"slices"
	"time"

	"ulnet/lnd/sim"
)

// Split is the effect of a partition of the servers on clients that reach all of them (G-CH-6).
type Split struct {
	Bound    time.Duration // T_q + T_orphan, after discovery has noticed the partition
	Majority int           // number of clients whose master was in the majority
	Minority int           // number of all other clients
	Evicted  int           // number of clients of the majority that were evicted
	Rehomed  int           // clients of the minority with a master in the majority at the end
	Neither  int           // clients that are neither connected to the majority nor evicted everywhere
	Held     int           // number of clients that the minority still holds
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
