package gossipsim

import (
	"time"

	"ulnet/lnd/sim"
)

// Gone is what the remaining nodes reported after many failed at once.
type Gone struct {
	Outcome       Outcome // outcome of the whole run
	Before, After float64 // bytes that a remaining node sends per cycle, before and after
	Late          string  // the first death that was not detected within a cycle more than the limit; empty: none
}

// MassDeath crashes the first nodes at the same instant, and lets the others run for a while.
func (c Measured) MassDeath(dead int, lasting time.Duration) (Gone, error) {
	return c.gone(lasting, c.Nodes-dead, func(n *Net) {
		for id := range dead {
			n.Crash(sim.NodeID(id))
		}
	})
}

// Islands divides the nodes into equal partitions.
func (c Measured) Islands(count int, lasting time.Duration) (Gone, error) {
	return c.gone(lasting, c.Nodes, func(n *Net) {
		var sets []sim.NodeSet
		for i := range count {
			first, end := i*c.Nodes/count, (i+1)*c.Nodes/count
			sets = append(sets, sim.NodeRange(sim.NodeID(first), sim.NodeID(end-1)))
		}
		n.Partition(sets...)
	})
}

// gone runs a cluster, injects a fault, and then runs the remaining nodes.
func (c Measured) gone(lasting time.Duration, left int, happen func(*Net)) (g Gone, err error) {
	cfg := c.config()
	cfg.Bare = false
	net, err := New(cfg)
	if err != nil {
		return g, err
	}
	// Messages carry parameters in the first N cycles, so traffic is counted after these.
	settled := time.Duration(c.Nodes+settle) * Interval
	begin := settled + settle*Interval + time.Duration(c.Seed%uint64(Interval))
	sent := [4]uint64{}
	for i, until := range []time.Duration{settled, begin, begin + net.Cycles(net.limits.Dead+2), begin + lasting} {
		if err := net.Run(until); err != nil {
			return g, err
		}
		sent[i] = net.Stats().SentBytes
		if i == 1 {
			happen(net)
		}
		if i == 2 {
			_, g.Late = net.detectedWithin(net.limits.Dead + 1)
		}
	}
	g.Outcome = net.Outcome()
	perCycle := func(bytes uint64, nodes int, d time.Duration) float64 {
		return float64(bytes) / float64(nodes) / (d.Seconds() / Interval.Seconds())
	}
	g.Before = perCycle(sent[1]-sent[0], c.Nodes, begin-settled)
	g.After = perCycle(sent[3]-sent[2], left, lasting-net.Cycles(net.limits.Dead+2))
	return g, nil
}
