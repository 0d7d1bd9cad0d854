package main

import (
	"fmt"
	"slices"
	"time"

	"ulnet/gossip/gossipsim"
	"ulnet/lnd/sim/scenario"
)

// measureGone measures goal G-GO-9: false deaths and traffic after almost half of the nodes have
// died, or while the network is divided into three parts.
func measureGone(b *measurement) {
	cells := []struct{ gone, nodes int }{{7, 16}, {15, 32}, {30, 64}, {60, 128}, {120, 256}, {66, 99}}
	if b.effort() == aGlance {
		cells = append(cells[:1], cells[5])
	}
	lasting := pick(b, 20*time.Second, 300*time.Second, 300*time.Second)
	for _, c := range cells {
		what, left, fault := fmt.Sprintf("%d of %d nodes dead", c.gone, c.nodes), c.nodes-c.gone, fmt.Sprintf("crash 1-%d", c.gone)
		if c.nodes == 99 {
			what, left, fault = "three islands of 33 nodes", 99, "partition 1-33 | 34-66 | 67-99"
		}
		for _, loss := range []int{0, 5} {
			told, deaths, most, seeds := 0.0, 0.0, 0.0, pick(b, 1, 10, 50)
			for seed := range uint64(seeds) {
				res, more := gone(b, c.nodes, left, loss, 7919*seed, fault, lasting)
				told, deaths, most = told+res.Measure("false deaths"), deaths+res.Measure("deaths told"), max(most, more)
			}
			what := fmt.Sprintf("%s, %d %% loss: ", what, loss)
			b.add(
				line{what: what + "healthy nodes declared dead", ratio: told, unit: "deaths", basis: fmt.Sprintf("%d seeds of %v, %.0f deaths told rightly", seeds, lasting, deaths-told)},
				line{what: what + "traffic of a node that is left, beside that before, worst", ratio: most, limit: 2, basis: "bytes per second"})
		}
	}
}

// gone runs nodes before a fault and, for the duration lasting, after it. The argument left is the number of
// nodes that are alive after the fault. The second result is a ratio: the traffic of a live node once the
// nodes have noticed the deaths, divided by the traffic of a node before the fault. Neither includes the
// first cycles, when messages also carry parameters.
func gone(b *measurement, nodes, left, loss int, seed uint64, fault string, lasting time.Duration) (*scenario.Result, float64) {
	settled := time.Duration(nodes+60) * gossipsim.Interval
	begin := settled + inCycle(seed)
	var reports []scenario.Progress
	res := must(simulateAs(b.ctx, "gossip-gone", scenario.Options{Seed: &seed, Progress: func(p scenario.Progress) { reports = append(reports, p) }},
		"NODES", nodes, "LENGTH", begin+lasting, "LOSS", loss, "BEGIN", begin, "FAULT", fault))
	b.check(nil)
	before, after := sent(reports, settled, begin), sent(reports, begin+10*time.Second, begin+lasting)
	return res, after / float64(left) / (before / float64(nodes))
}

// sent returns how many bytes all nodes sent per second between two instants of a run. It counts from the
// first to the last progress report between them; a run makes about a hundred reports.
func sent(reports []scenario.Progress, from, to time.Duration) float64 {
	reports = slices.DeleteFunc(slices.Clone(reports), func(p scenario.Progress) bool { return p.Virtual < from || p.Virtual > to })
	first, last := reports[0], reports[len(reports)-1]
	return float64(last.Stats.SentBytes-first.Stats.SentBytes) / (last.Virtual - first.Virtual).Seconds()
}
