package gossipsim

import (
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

var series = []scenario.Quantity{
	{Name: "alive-least", Unit: "nodes", Doc: "alive in the eyes of the node that sees the fewest"},
	{Name: "alive-most", Unit: "nodes", Doc: "alive in the eyes of the one that sees the most"},
	{Name: "clock-spread", Unit: "units", Doc: "between the lowest and the highest Lamport clock"},
	{Name: "bytes-per-cycle", Unit: "B", Doc: "bytes that each node has sent per gossip cycle so far"},
	{Name: "deaths", Unit: "told", Doc: "deaths that nodes were told of so far"},
	{Name: "false-deaths", Unit: "told", Doc: "those of nodes that were fine"},
	{Name: "resurrections", Unit: "told", Doc: "returns of nodes that have been down for long"},
	{Name: "obsolete", Unit: "messages", Doc: "messages dropped for their old clock, by nodes in their latest incarnations"},
}

// Sample implements [scenario.Instance].
func (n *Net) Sample() []float64 {
	least, most, some := 0, 0, false
	for _, v := range n.views(sim.AllNodes) {
		c := v.count()
		if !some || c < least {
			least = c
		}
		most, some = max(most, c), true
	}
	low, high := n.spread()
	counters := n.Counters()
	return []float64{
		float64(least), float64(most), float64(high - low), n.bytesPerCycle(),
		float64(n.outcome.Deaths), float64(n.outcome.FalseDeaths), float64(n.outcome.Resurrections), float64(counters.Obsolete),
	}
}

// bytesPerCycle returns how many bytes a node has sent in a gossip cycle, on average: bytes of
// gossip messages for bare machines, of all LNet messages for stacks.
func (n *Net) bytesPerCycle() float64 {
	c := n.Counters()
	cycles := c.PingsSent - c.SecondPings
	if cycles == 0 {
		return 0
	}
	return float64(n.Stats().SentBytes) / float64(cycles)
}

// historyGrace returns the grace period for history.NoFalse. NoFalse counts from the beginning
// of an incarnation, and so the period includes the silence after the start.
func (n *Net) historyGrace() time.Duration { return n.grace() + n.Cycles(n.limits.Stealth+2) }

// Measures implements [scenario.Instance].
func (n *Net) Measures() []scenario.Measure {
	v, c := n.outcome, n.Counters()
	cycles := func(d time.Duration) float64 { return float64(d) / float64(n.cfg.Gossip.Interval) }
	return []scenario.Measure{
		{Name: "dead after more than", Unit: "cycles", Value: float64(n.limits.Dead)},
		{Name: "detected first after", Unit: "cycles", Value: cycles(v.Detected.Earliest)},
		{Name: "detected on average after", Unit: "cycles", Value: cycles(v.Detected.Mean())},
		{Name: "detected last after", Unit: "cycles", Value: cycles(v.Detected.Latest)},
		{Name: "joins told", Value: float64(v.Joins)},
		{Name: "deaths told", Value: float64(v.Deaths)},
		{Name: "false deaths", Value: float64(v.FalseDeaths + v.FewDeaths)},
		{Name: "resurrections", Value: float64(v.Resurrections)},
		{Name: "bytes per node and cycle", Unit: "B", Value: n.bytesPerCycle()},
		{Name: "obsolete messages", Value: float64(c.Obsolete)},
		{Name: "malformed messages", Value: float64(c.Malformed + c.NoParticipant + c.NotYoung + c.OtherVersion + c.BadClock + c.Strangers)},
		{Name: "disagreements", Value: float64(c.Disagreements)},
		{Name: "cycles missed", Value: float64(c.Missed)},
	}
}
