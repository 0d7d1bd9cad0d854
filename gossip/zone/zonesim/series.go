package zonesim

import (
	"ulnet/gossip/zone/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

var series = []scenario.Quantity{
	{Name: "members-least", Unit: "nodes", Doc: "members of the view that has the fewest, in the base zones"},
	{Name: "members-most", Unit: "nodes", Doc: "members of the view that has the most"},
	{Name: "census-least", Unit: "nodes", Doc: "all members of base zones in the eyes of the supervisor that knows the fewest"},
	{Name: "bytes", Unit: "B", Doc: "what all nodes have sent so far, payload only"},
	{Name: "removals", Unit: "told", Doc: "removals because of suspicions that nodes were told of so far"},
	{Name: "false-removals", Unit: "told", Doc: "those of nodes that were fine"},
	{Name: "repairs", Unit: "views", Doc: "views that neighbours exchanged again, by nodes in their latest incarnations"},
	{Name: "refused", Unit: "messages", Doc: "messages that nodes did not understand, in their latest incarnations"},
}

// Sample implements [scenario.Instance].
func (n *Net) Sample() []float64 {
	least, most, some := 0, 0, false
	for id := range n.taking(sim.NodeRange(sim.NodeID(n.cfg.Supervisors), sim.NodeID(n.cfg.Nodes-1))) {
		count := n.incarnations[id].status().Members
		if !some || count < least {
			least = count
		}
		most, some = max(most, count), true
	}
	c := n.Counters()
	return []float64{
		float64(least), float64(most), float64(n.leastCensus()), float64(n.Stats().SentBytes),
		float64(n.outcome.Removals), float64(n.outcome.False), float64(c.Repairs), float64(c.Refusals()),
	}
}

// leastCensus adds up the sizes of all zones in the census of each supervisor, and returns the
// smallest sum.
func (n *Net) leastCensus() int {
	least := -1
	for id := range n.taking(n.supervisors) {
		sum := 0
		for _, e := range n.incarnations[id].census() {
			sum += e.Size
		}
		if least < 0 || sum < least {
			least = sum
		}
	}
	return max(least, 0)
}

// Counters returns the sum of the counters of all nodes' latest incarnations.
func (n *Net) Counters() engine.Stats {
	return kit.Sum(n.incarnations, func(i incarnation) engine.Stats { return i.status().Stats })
}

// Measures implements [scenario.Instance].
func (n *Net) Measures() []scenario.Measure {
	v, c := n.outcome, n.Counters()
	seconds := max(n.Now().Seconds(), 1e-9)
	return []scenario.Measure{
		{Name: "joins told", Value: float64(v.Joins)},
		{Name: "leaves told", Value: float64(v.Leaves)},
		{Name: "removals told", Value: float64(v.Removals)},
		{Name: "false removals", Value: float64(v.False)},
		{Name: "removed first after", Unit: "ms", Value: float64(v.Detected.Earliest) / 1e6},
		{Name: "removed on average after", Unit: "ms", Value: float64(v.Detected.Mean()) / 1e6},
		{Name: "removed last after", Unit: "ms", Value: float64(v.Detected.Latest) / 1e6},
		{Name: "monitors knew on average after", Unit: "ms", Value: float64(v.Alerted.Mean()) / 1e6},
		{Name: "monitors knew last after", Unit: "ms", Value: float64(v.Alerted.Latest) / 1e6},
		{Name: "suspicions filed", Value: float64(c.Filed)},
		{Name: "suspicions refuted", Value: float64(v.Refuted)},
		{Name: "views exchanged again", Value: float64(c.Repairs)},
		{Name: "attributes received", Value: float64(c.Entries)},
		{Name: "supervisors that did not answer", Value: float64(c.SupervisorsLost)},
		{Name: "bytes per node and second", Unit: "B", Value: float64(n.Stats().SentBytes) / float64(n.cfg.Nodes) / seconds},
		{Name: "bytes of heartbeats per node and second", Unit: "B", Value: float64(n.beats) / float64(n.cfg.Nodes) / seconds},
		{Name: "bytes of all else per node", Unit: "B", Value: float64(n.others) / float64(n.cfg.Nodes)},
		{Name: "messages not understood", Value: float64(c.Refusals())},
	}
}
