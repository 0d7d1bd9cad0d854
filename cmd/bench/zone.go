package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"ulnet/gossip/zone/zonesim"
	"ulnet/lnd/sim/scenario"
)

// zoneBasis describes the conditions of all simulations of zones.
const zoneBasis = "RTT 1 ms; virtual time"

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// measureZoneBoot measures goal G-MS-1: the time until all views are equal if all nodes of a zone
// start at once.
func measureZoneBoot(b *measurement) {
	nodes := pick(b, 256, 2048, 2048)
	var heap uint64
	var worst, wall, narrow time.Duration
	seeds, narrowSeeds := pick(b, 2, 10, 100), pick(b, 1, 3, 10)
	for seed := range uint64(seeds) {
		runtime.GC()
		res := bootZone(b, nodes, seed, 2*time.Second, "", func(scenario.Progress) { heap = max(heap, memStats().HeapInuse) })
		worst, wall = max(worst, res.Expects[0].At), max(wall, res.Wall)
	}
	for seed := range uint64(narrowSeeds) {
		res := bootZone(b, nodes, seed, 20*time.Second, "access rate 10Mbit\ncpu 0s per step 20µs per KiB", nil)
		narrow = max(narrow, res.Expects[0].At)
	}
	what := fmt.Sprintf("%d nodes start at once with 3 random bootstraps: ", nodes)
	b.add(
		line{what: what + "all views equal, worst seed", ratio: worst.Seconds(), unit: "s", limit: 1.2, basis: fmt.Sprintf("%d seeds, τ 200 ms; %s", seeds, zoneBasis)},
		line{what: what + "the same with 10 Mbit/s links and 20 µs CPU per KiB", ratio: narrow.Seconds(), unit: "s", limit: 5.7, basis: fmt.Sprintf("%d seeds; %s", narrowSeeds, zoneBasis)},
		line{what: what + "wall time of the simulation, worst seed", ratio: wall.Seconds(), unit: "s", limit: 10, basis: "all nodes in one thread"},
		line{what: what + "heap of the simulation at its peak", ratio: float64(heap) / (1 << 20), unit: "MiB", limit: 600, basis: fmt.Sprintf("%.1f B for each entry of a view", float64(heap)/float64(nodes*nodes))},
	)
}

// bootZone simulates the start of a zone for the duration long, in which all views must become right.
func bootZone(b *measurement, nodes int, seed uint64, long time.Duration, limits string, progress func(scenario.Progress)) *scenario.Result {
	return must(kept(simulateAs(b.ctx, "zone-boot", scenario.Options{Seed: &seed, Progress: progress}, "NODES", nodes, "LENGTH", long, "LIMITS", limits)))
}

// measureZoneLeave measures goal G-MS-2, how soon the members of a zone learn of the deaths of others: once with the
// parameters of the paper, and once with the default ones.
func measureZoneLeave(b *measurement) {
	measureLeaves(b, "parameters of the paper", "paper")
	measureLeaves(b, "Θ=2, K_s=2", "none")
}

func measureLeaves(b *measurement, with, preset string) {
	nodes, numbers := pick(b, 256, 2048, 2048), pick(b, []int{1, 16}, []int{1, 16, 200}, []int{1, 16, 200})
	means := make([][]float64, len(numbers))
	late, join := 0.0, math.Inf(-1)
	seeds := pick(b, 2, 5, 100)
	for i, k := range numbers {
		for _, res := range bySeed(b, seeds, func(seed uint64) (*scenario.Result, error) {
			return kept(simulate(b.ctx, "zone-leave", seed, "NODES", nodes, "PRESET", preset, "COUNT", k))
		}) {
			if told, want := res.Measure("removals told"), k*(nodes-k); told != float64(want) {
				b.check(fmt.Errorf("%.0f removals were told of %d", told, want))
			}
			back := res.Expects[2]
			last := res.Measure("removed last after")
			means[i] = append(means[i], res.Measure("removed on average after"))
			late, join = max(late, last), max(join, ms(back.At-back.From)-last)
		}
	}
	var mid []float64
	for i, k := range numbers {
		mid = append(mid, median(means[i]))
		b.add(line{
			what: fmt.Sprintf("%s: %d of %d die at once: until another knows of one, on average", with, k, nodes), ratio: mid[i], unit: "ms", limit: 600,
			basis: fmt.Sprintf("median of %d seeds, the worst %.0f ms; %s", seeds, slices.Max(means[i]), zoneBasis),
		})
	}
	apart := 100 * (slices.Max(mid) - slices.Min(mid)) / slices.Min(mid)
	b.add(
		line{what: with + ": from the death of one until the last knows, worst", ratio: late, unit: "ms", limit: 5*200 + 10, basis: fmt.Sprintf("τ 200 ms, %d seeds", seeds)},
		line{what: with + ": how far these averages are apart", ratio: apart, unit: "%", limit: 15, basis: fmt.Sprintf("%.0f ms", mid)},
		line{what: with + ": joins after the same number of leaves, later than those by", ratio: max(join, 0), unit: "ms", limit: 200, basis: fmt.Sprintf("%.0f ms, the last to know of each, worst of %d seeds", join, seeds)},
	)
}

// alerts has the times, in ms, until a monitor learned of two kinds of deaths: of a process that
// ended, which resets its connections, and of a host that became silent.
type alerts struct{ reset, silent float64 }

// zoneTimeout is the time after which a silent neighbour is suspected, in ms; it is 3.5
// heartbeat intervals.
const zoneTimeout = 3500

// alerted returns the time until a monitor learns of a death.
func alerted(ctx context.Context, nodes int, seed uint64, dies string) (float64, error) {
	size := uint64(nodes)
	res, err := simulate(ctx, "zone-monitor", seed, "NODES", nodes, "MONITOR", 1+seed%size, "VICTIM", 1+(seed+7)%size, "DIES", dies)
	if err != nil {
		return 0, err
	}
	took := res.Measure("monitors knew last after")
	if took == 0 {
		return 0, errors.New("the monitor does not know")
	}
	return took, nil
}

// measureZoneMonitors measures G-MS-3: how soon a monitor learns of a death.
func measureZoneMonitors(b *measurement) {
	sizes := pick(b, []int{32, 128}, []int{32, 256, 2048}, []int{32, 64, 128, 256, 512, 1024, 2048})
	seeds := pick(b, 2, 5, 20)
	var reset, late []float64 // the longest times of the two kinds of deaths, one for each size
	for _, nodes := range sizes {
		list := bySeed(b, seeds, func(seed uint64) (a alerts, err error) {
			if a.reset, err = alerted(b.ctx, nodes, seed, "kill"); err == nil {
				a.silent, err = alerted(b.ctx, nodes, seed, "crash")
			}
			return a, err
		})
		var worst, silent float64
		for _, a := range list {
			worst, silent = max(worst, a.reset), max(silent, a.silent)
		}
		reset, late = append(reset, worst), append(late, silent)
	}
	basis := fmt.Sprintf("zones of %d, %d seeds each; %s", sizes, seeds, zoneBasis)
	b.add(
		line{what: "a process dies: until a monitor knows, worst", ratio: slices.Max(reset), unit: "ms", limit: 3, basis: fmt.Sprintf("%.1f ms; %s", reset, basis)},
		line{what: "a host falls silent: until a monitor knows, worst", ratio: slices.Max(late), unit: "ms", limit: zoneTimeout + 5, basis: fmt.Sprintf("%.0f ms; %s", late, basis)},
		line{what: "a process dies: the size of zone where that takes longest, to where it is shortest", ratio: slices.Max(reset) / slices.Min(reset), limit: 1.05, basis: basis},
	)
	measureMonitorsInLab(b)
}

// measureZoneHealing measures goal G-MS-6: the time after a partition until all views are equal.
func measureZoneHealing(b *measurement) {
	splits := pick(b, [][2]int{{2, 2}, {8, 8}}, [][2]int{{1024, 1024}, {2, 2}, {8, 8}, {1, 63}}, [][2]int{{1024, 1024}, {2, 2}, {8, 8}, {1, 63}})
	for _, s := range splits {
		seeds := pick(b, 1, 5, 20)
		if s[0] > 100 {
			seeds = pick(b, 1, 1, 5)
		}
		list := bySeed(b, seeds, func(seed uint64) (zonesim.Healing, error) {
			return zonesim.Measured{Nodes: s[0] + s[1], Seed: seed}.Heal(b.ctx, s[0])
		})
		worst, contact, apart, basis := 0.0, 0.0, math.MaxInt, ""
		for _, h := range list {
			// All nodes of the larger part must have removed others. A part of one node removes none: a node
			// that hears from no other one believes that it is itself faulty (MS-A1).
			if apart = min(apart, h.Apart); apart < max(s[0], s[1]) {
				b.check(fmt.Errorf("%d of %d and %d nodes have removed others when the partition ends", apart, s[0], s[1]))
			}
			bound := 3 * time.Duration(h.Diameter+2) * zonesim.Tau
			if r := h.Took.Seconds() / bound.Seconds(); r >= worst {
				worst, basis = r, fmt.Sprintf("%v of %v, %d seeds; %s", h.Took, bound, seeds, zoneBasis)
			}
			contact = max(contact, h.Contact.Seconds()/h.Rarest.Seconds())
		}
		what := fmt.Sprintf("a partition of %d and %d ends: ", s[0], s[1])
		b.add(
			line{what: what + "views equal after the first contact, to 3·(diameter+2)·τ", ratio: worst, limit: 1, basis: basis},
			line{what: what + "first contact, to how rarely the rarest asks", ratio: contact, limit: 1, basis: fmt.Sprintf("worst of %d seeds; that is at most 10 s, or 100 ms for each member; %d nodes or more had removed others", seeds, apart)},
		)
	}
}

// measureZoneAttributes measures goal G-MS-7: how many rounds an attribute takes to reach all
// members of a zone, and how many entries they receive for that.
func measureZoneAttributes(b *measurement) {
	nodes, writes := pick(b, 256, 2048, 2048), pick(b, 2, 5, 20)
	list := bySeed(b, pick(b, 1, 3, 10), func(seed uint64) (zonesim.Spread, error) {
		return zonesim.Measured{Nodes: nodes, Seed: seed}.Write(b.ctx, writes)
	})
	var worst zonesim.Spread
	for _, s := range list {
		worst = zonesim.Spread{Mean: max(worst.Mean, s.Mean), Last: max(worst.Last, s.Last), Received: max(worst.Received, s.Received)}
	}
	tau := zonesim.Tau
	basis := fmt.Sprintf("the worst of %d seeds, %d writes each in a zone of %d, rounds of %v; %s", len(list), writes, nodes, tau, zoneBasis)
	b.add(
		line{what: "from the write of an attribute to a replica, on average", ratio: worst.Mean.Seconds() / tau.Seconds(), unit: "rounds", limit: 3, basis: basis},
		line{what: "from the write of an attribute to the last replica", ratio: worst.Last.Seconds() / tau.Seconds(), unit: "rounds", limit: 3.5, basis: basis},
		line{what: "entries received, to one for each replica", ratio: worst.Received, limit: 1.3, basis: basis},
	)
}
