package main

import (
	"fmt"
	"time"

	"ulnet/lnet/nid"
)

// callTrips has the number of round trips per round, for 1, 8 and 64 callers.
var callTrips = []struct{ callers, trips int }{{1, roundTrips}, {8, 30_000}, {manyCallers, 60_000}}

// callWays are the ways in which a caller can wait for its answer.
var callWays = waits[1:]

// measureManyCallers measures goal G-CO-1: round trips of 64 callers, compared with those of NATS.
func measureManyCallers(b *measurement) {
	c := b.callersOfNode()
	trips := b.some(callTrips[len(callTrips)-1].trips)
	var ours []*contender
	for _, way := range callWays {
		ours = append(ours, b.called(c, way.bits, way.name, manyCallers, trips))
	}
	theirs, missing := b.natsCallers(trips)
	if theirs == nil {
		b.add(skipped(callFigures(), missing)...)
		return
	}
	b.alternate(b.rounds, append(ours, theirs)...)
	var rates, costs []line
	for _, c := range ours {
		rates = append(rates, c.speed(theirs, callRate(c.name), 2, 1e6, "%.1f k/s"))
		costs = append(costs, beside(theirs.name, callCost(c.name), 0, c.cpu, theirs.cpu, 1e-3, "%.2f µs"))
	}
	b.add(bestOf(rates)...)
	b.add(costs...)
}

func callRate(way string) string {
	return fmt.Sprintf("%d callers, round trips a second, %s, to NATS", manyCallers, way)
}

func callCost(way string) string {
	return fmt.Sprintf("%d callers, CPU time of all processes per round trip, %s, to NATS", manyCallers, way)
}

// callFigures returns the names of the lines of G-CO-1, which are marked as skipped in a run without NATS.
func callFigures() (list []figure[struct{}]) {
	for _, name := range []func(string) string{callRate, callCost} {
		for _, way := range callWays {
			list = append(list, figure[struct{}]{what: name(way.name)})
		}
	}
	return list
}

// callersOfNode returns the callers of this process, whose calls the other process answers.
func (b *measurement) callersOfNode() *callers {
	if b.callers == nil {
		b.callers = newCallers(b.node.node, []nid.ProcessID{b.node.target})
	}
	return b.callers
}

// called returns the contender that makes callers exchange PUTs.
func (b *measurement) called(c *callers, how uint64, name string, active, trips int) *contender {
	return b.timed(name, trips, func() (time.Duration, error) { return c.run(b.ctx, how, active, trips) })
}

// bestOf returns the lines of several ways to wait for answers. The goal bounds only the best of them,
// because a program may choose how it waits.
func bestOf(lines []line) []line {
	best := 0
	for i, l := range lines {
		if (l.ratio > lines[best].ratio) == l.least {
			best = i
		}
	}
	for i := range lines {
		lines[i].free = i != best
	}
	return lines
}

// measureFewCallers measures goal G-CO-2: the latency of a single caller, and the CPU time per
// round trip of 1, 8 and 64.
func measureFewCallers(b *measurement) {
	c := b.callersOfNode()
	trips := b.some(roundTrips)
	raw := b.timed("raw", trips, func() (time.Duration, error) { return b.raw.roundTrips(smallSize, trips) })
	all, by := []*contender{raw}, map[string][]*contender{}
	for _, way := range callWays {
		for _, some := range callTrips {
			name := fmt.Sprintf("%d callers %s", some.callers, way.name)
			by[way.name] = append(by[way.name], b.called(c, way.bits, name, some.callers, b.some(some.trips)))
		}
		all = append(all, by[way.name]...)
	}
	b.alternate(b.rounds, all...)
	var alone, costs, least []line
	for _, way := range callWays {
		one, last := by[way.name][0], len(callTrips)-1
		alone = append(alone, one.half(raw, "8 B PUT half round trip of one caller, "+way.name, 1.10))
		for i, some := range callTrips[1:] {
			many := by[way.name][i+1]
			l := beside("one caller", fmt.Sprintf("%d callers, CPU time of both sides per round trip, %s, to that of one", some.callers, way.name), 0.5, many.cpu, one.cpu, 1e-3, "%.2f µs")
			l.basis += fmt.Sprintf("; %.1f k round trips/s", median(many.rates())*1e6)
			if l.free = true; i+1 == last {
				least = append(least, l)
			} else {
				costs = append(costs, l)
			}
		}
	}
	b.add(bestOf(alone)...)
	b.add(costs...)
	b.add(bestOf(least)...)
}
