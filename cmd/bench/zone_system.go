package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/zonesim"
)

// million returns the configuration of a system of a million nodes, most of them in stub zones,
// with which goals G-MS-4 and G-MS-9 are measured. At the lowest level of effort, the system is smaller.
func million(b *measurement, seed uint64) zonesim.Measured {
	supervisors := pick(b, 16, 512, 512)
	return zonesim.Measured{Nodes: 2 * supervisors, Supervisors: supervisors, Zones: supervisors, Stub: pick(b, 256, 2048, 2048), Seed: seed, Zone: zone.Paper}
}

// measureSystemLeave measures goal G-MS-4: in a system of a million nodes, the time until all
// supervisors know of a death in a base zone.
func measureSystemLeave(b *measurement) {
	m := million(b, 1)
	s := must(m.System(b.ctx))
	var means, lasts []float64
	leaves := pick(b, 2, 10, 40)
	for k := range leaves {
		mean, last := must2(s.Leave(b.ctx, k*31%m.Zones))
		means, lasts = append(means, ms(mean)), append(lasts, ms(last))
		b.check(s.Rest(2*time.Second + time.Duration(k*37)*time.Millisecond))
	}
	basis := fmt.Sprintf("%d leaves, %d supervisors, %d stub zones of %d: %d nodes; parameters of the paper, the delegate hears at once (G-MS-3); %s", leaves, m.Supervisors, m.Zones, m.Stub, s.Members, zoneBasis)
	b.add(
		line{what: "a member of a base zone dies: until a supervisor knows, on average", ratio: median(means), unit: "ms", limit: 600, basis: basis},
		line{what: "a member of a base zone dies: until the last supervisor knows, worst", ratio: slices.Max(lasts), unit: "ms", limit: 720, basis: fmt.Sprintf("median %.0f ms; %s", median(lasts), basis)},
		line{what: "all nodes start at once: until all supervisors have the census", ratio: s.Boot.Seconds(), unit: "s", limit: 10.3, basis: fmt.Sprintf("stubs form in 1.2 s; %s", basis)},
	)
	runtime.KeepAlive(s)
	if b.effort() < thorough {
		return
	}
	s = nil
	runtime.GC()
	measureWholeSystem(b, 64, 64, 2048)
}

// wholeMemory is the memory limit for a system without stubs: such a system needs 16 GiB, and
// would need twice as much with the default percentage of the garbage collector.
const wholeMemory = 17 << 30

// measureWholeSystem starts a system in which every node is a full state machine.
func measureWholeSystem(b *measurement, supervisors, zones, size int) {
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(wholeMemory))
	var heap uint64
	m := zonesim.Measured{
		Nodes: supervisors + zones*size, Supervisors: supervisors, Zones: zones, Seed: 1,
		Poll: func() { heap = max(heap, memStats().HeapInuse) },
	}
	s := must(m.System(b.ctx))
	mean, last := must2(s.Leave(b.ctx, 1))
	basis := fmt.Sprintf("%d supervisors, %d zones of %d whole nodes; a member's death known after %v on average, %v at last; %s", supervisors, zones, size, mean, last, zoneBasis)
	b.add(
		line{what: "all nodes are machines: until all supervisors have the census", ratio: s.Boot.Seconds(), unit: "s", limit: 8, basis: basis},
		line{what: "all nodes are machines: heap at its peak", ratio: float64(heap) / (1 << 30), unit: "GiB", limit: 20, basis: fmt.Sprintf("%d nodes", m.Nodes)},
	)
}

// measureSystemCensus measures G-MS-9: how soon all supervisors have the census of all zones.
func measureSystemCensus(b *measurement) {
	m := million(b, 2)
	s := must(m.System(b.ctx))
	rounds, deaths := pick(b, 1, 3, 10), pick(b, 10, 200, 200)
	var worst time.Duration
	for range rounds {
		took := must(s.Settle(b.ctx, deaths))
		worst = max(worst, took)
		b.check(s.Rest(3 * time.Second))
	}
	b.add(line{
		what: "from the last change until every supervisor has the whole census, worst", ratio: worst.Seconds(), unit: "s", limit: 2,
		basis: fmt.Sprintf("%d times %d deaths in a second, %d nodes; %s", rounds, deaths, s.Members, zoneBasis),
	})
}
