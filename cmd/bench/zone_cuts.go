package main

import (
	"fmt"
	"time"

	"ulnet/lnd/sim/scenario"
)

// cutZone is a zone that is partitioned for a while, so that its first nodes cannot reach the
// others.
type cutZone struct {
	nodes, first int
	step         time.Duration // the measured partitions last for step, 2*step and so on, up to longestCut
	seeds        int
}

// How long nodes are observed after a partition, and how long the longest partition lasts.
const (
	cutWatched = 30 * time.Second
	longestCut = 30 * time.Second
)

// measureZoneCuts measures goal G-MS-10. It measures all lengths of partitions only with
// BENCH=long, which takes an hour.
func measureZoneCuts(b *measurement) {
	step, large := pick(b, 6500*time.Millisecond, 500*time.Millisecond, 100*time.Millisecond), pick(b, 10*time.Second, 5*time.Second, 500*time.Millisecond)
	seeds := pick(b, 1, 2, 20)
	for _, z := range []cutZone{{64, 8, step, seeds}, {64, 16, step, seeds}, {64, 32, step, seeds}, {512, 128, large, pick(b, 1, 1, 20)}} {
		if b.effort() == aGlance {
			z.nodes, z.first = z.nodes/8+8, z.first/8+2
		}
		z.measure(b)
	}
}

// measure adds the lines for one zone.
func (z cutZone) measure(b *measurement) {
	var own, across float64
	runs := 0
	for length := z.step; length <= longestCut; length += z.step {
		whole := 12*time.Second + length
		list := bySeed(b, z.seeds, func(seed uint64) (*scenario.Result, error) {
			return kept(simulate(b.ctx, "zone-cut", seed, "NODES", z.nodes, "FIRST", z.first, "WHOLE", whole, "LENGTH", whole+cutWatched))
		})
		for _, res := range list {
			removals := res.Measure("false removals")
			own, across, runs = own+removals, across+res.Measure("removals told")-removals, runs+1
		}
	}
	if across == 0 {
		b.check(fmt.Errorf("%d of %d nodes parted from the others were not removed", z.first, z.nodes))
	}
	b.add(line{
		what: fmt.Sprintf("%d of %d nodes are parted for 0.1 to 30 s: members removed by their own side", z.first, z.nodes), ratio: own, unit: "removals",
		basis: fmt.Sprintf("every %v, %d seeds, %d runs; removals by the other side %.0f; %s", z.step, z.seeds, runs, across, zoneBasis),
	})
}
