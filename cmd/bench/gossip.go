package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"ulnet/gossip/gossipsim"
)

// effort is the amount of work that a measurement spends.
type effort int

const (
	aGlance effort = iota // one short round, which checks that the measurement works
	normal
	thorough // the long form of all measurements, with BENCH=long
)

func (b *bench) effort() effort {
	switch {
	case b.rounds < 5:
		return aGlance
	case b.rounds < 60:
		return normal
	}
	return thorough
}

// pick returns the value for the effort that b spends.
func pick[T any](b *measurement, glance, usual, long T) T {
	return []T{glance, usual, long}[b.effort()]
}

// some returns the number of operations per round: it is n, or much less at the effort aGlance.
func (b *measurement) some(n int) int { return pick(b, max(n/20, 1), n, n) }

// newcomers is the number of nodes that join in a run. In large simulations, each node tracks only this
// many participants: the first ones of the list.
const newcomers = 64

// propagation is a cluster size of goal G-GO-1, with the bounds for it in cycles.
type propagation struct {
	nodes, columns int
	median, worst  float64
	seeds          int
}

// measurePropagation measures goal G-GO-1: the number of cycles until all nodes know a newcomer.
func measurePropagation(b *measurement) {
	const tracked = newcomers
	sizes := []propagation{{1000, tracked, 8, 11, 2}}
	if b.effort() > aGlance {
		sizes = append(sizes, propagation{4096, 0, math.Floor(0.8 * 12), 12, 2}, propagation{10_000, tracked, 10, 12, 2}, propagation{100_000, tracked, 12, 14, 2})
	}
	if b.effort() == thorough {
		sizes = append(sizes, propagation{16_384, 0, math.Floor(0.8 * 14), 13, 1}, propagation{1_000_000, tracked, 14, 16, 2})
	}
	for _, s := range sizes {
		s.measure(b)
	}
	if b.effort() == thorough {
		measureAgreement(b, 65_536)
	}
}

func (s *propagation) measure(b *measurement) {
	var known []int
	flaps := 0
	for seed := range uint64(s.seeds) {
		b.check(nil)
		p := must(gossipsim.Measured{Nodes: s.nodes, Columns: s.columns, Loss: 0.05, Seed: seed + 1}.Propagate(newcomers))
		known = append(known, p.Known...)
		flaps += p.Flaps
	}
	slices.Sort(known)
	what := fmt.Sprintf("newcomer known to all of %d nodes at 5 %% loss", s.nodes)
	basis := fmt.Sprintf("%d newcomers, full vectors", len(known))
	if s.columns > 0 {
		basis = fmt.Sprintf("%d newcomers, %d tracked columns", len(known), s.columns)
	}
	basis += fmt.Sprintf("; %d deaths told", flaps)
	b.add(
		line{what: what + ", median", ratio: float64(known[len(known)/2]), unit: "cycles", limit: s.median, basis: basis},
		line{what: what + ", worst", ratio: float64(known[len(known)-1]), unit: "cycles", limit: s.worst, basis: basis},
	)
}

// measureSafety measures goal G-GO-2: how often live nodes count as dead because messages are lost.
func measureSafety(b *measurement) {
	for _, loss := range []float64{0.05, 0.20} {
		for _, nodes := range []int{8, 16, 64, 1000} {
			s := sampleTwice(b, nodes, loss)
			l := line{
				what:  fmt.Sprintf("live nodes thought dead, %d nodes, %.0f %% loss, per million samples", nodes, loss*100),
				ratio: s.Share() * 1e6, unit: "ppm", limit: 1,
				basis: fmt.Sprintf("%d of %.2g samples", s.Dead, float64(s.Total)),
			}
			if loss == 0.05 {
				l.limit = 0
			}
			b.add(l)
		}
	}
}

// measureObsolete measures goal G-GO-6: how many fresh messages are dropped as obsolete, and whether
// messages that arrive far too late are dropped.
func measureObsolete(b *measurement) {
	messages := pick[uint64](b, 100_000, 20_000_000, 100_000_000)
	for _, nodes := range []int{8, 64, 1000} {
		// Each node tracks the first 8 participants (Columns), so a cycle of 2 N messages yields 8
		// (N-1) samples.
		s := must(gossipsim.Measured{Nodes: nodes, Columns: 8, Loss: 0.05, Seed: 1}.Sample(b.ctx, messages*4))
		b.add(line{
			what:  fmt.Sprintf("fresh messages dropped as obsolete, %d nodes, 5 %% loss, per million", nodes),
			ratio: float64(s.Obsolete) / float64(s.Messages) * 1e6, unit: "ppm", limit: 1,
			basis: fmt.Sprintf("%d of %.2g messages", s.Obsolete, float64(s.Messages)),
		})
	}
	over := time.Duration(pick(b, 100, 2000, 10_000)) * gossipsim.Interval
	res := must(simulate(b.ctx, "gossip-held", 1, "LENGTH", over+7200*time.Millisecond, "END", over))
	b.add(line{
		what:  "messages held back for twice the age of death that are dropped, 64 nodes",
		ratio: res.Measure("obsolete messages") / float64(res.Stats.Reordered), limit: 1, least: true,
		basis: fmt.Sprintf("%.0f of %d", res.Measure("obsolete messages"), res.Stats.Reordered),
	})
}
