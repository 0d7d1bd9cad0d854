package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"ulnet/gossip/gossipsim"
	"ulnet/lnd/sim"
)

// measureAgreement starts nodes that have the list of all participants from the start, and runs them until each
// node considers all participants alive.
func measureAgreement(b *measurement, nodes int) {
	// A run creates hardly any garbage, but a large heap. With the default of 100 %, the heap could
	// double before the next collection.
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	runtime.GC()
	begin := time.Now()
	net := gossipNet(nodes, false)
	cycles := 0
	for ok := false; !ok; ok, _ = net.AliveExactly(nodes, sim.AllNodes) {
		if cycles++; cycles > 100 {
			b.check(fmt.Errorf("%d nodes do not agree after 100 cycles", nodes))
		}
		b.check(net.Run(net.Cycles(cycles)))
	}
	took := time.Since(begin)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(net)
	what := fmt.Sprintf("%d nodes with full vectors that start at once", nodes)
	b.add(
		line{
			what: what + " to agreement", ratio: took.Minutes(), unit: "min", limit: 10,
			basis: fmt.Sprintf("%d cycles, %.3g steps", cycles, float64(net.Stats().Steps)),
		},
		line{what: what + ", memory", ratio: float64(m.Sys-m.HeapReleased) / 1e9, unit: "GB", limit: 6, basis: fmt.Sprintf("%.2f GB live", float64(m.HeapAlloc)/1e9)},
	)
}

// sampleTwice runs a simulation with two seeds in parallel, and adds up their samples. It stops after 10⁹
// samples (at high loss 10⁸, and at another effort another number), or after the time patience.
func sampleTwice(b *measurement, nodes int, loss float64) (sum gossipsim.Samples) {
	want, patience := pick[uint64](b, 200_000, 1_000_000_000, 4_000_000_000), 110*time.Second
	if nodes < 10 {
		patience *= 2 // with so few nodes, a cycle yields few samples
	}
	if loss > 0.1 {
		want, patience = want/10, 25*time.Second
	}
	limited, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	list := bySeed(b, 2, func(seed uint64) (gossipsim.Samples, error) {
		return gossipsim.Measured{Nodes: nodes, Loss: loss, Seed: seed + 1}.Sample(limited, want/2)
	})
	for _, s := range list {
		sum.Total += s.Total
		sum.Dead += s.Dead
		sum.Deaths += s.Deaths
	}
	b.check(nil)
	return sum
}

// measurePauses measures goal G-GO-4: wrong reports of deaths and returns while some nodes are
// paused again and again.
func measurePauses(b *measurement) {
	seeds := pick(b, 1, 20, 200)
	for _, blocked := range []int{4, 16} {
		var falseDeaths, resurrections, deaths, missed float64
		for seed := range uint64(seeds) {
			begin := inCycle(seed * 7919)
			res := must(simulate(b.ctx, "gossip-blocked", seed*7919, "BEGIN", begin, "END", begin+time.Minute, "DEATH", begin+20*time.Second, "BLOCKED", blocked))
			falseDeaths += res.Measure("false deaths")
			resurrections += res.Measure("resurrections")
			deaths += res.Measure("deaths told")
			missed += res.Measure("cycles missed")
		}
		what := fmt.Sprintf("%d of 64 nodes blocked for 8 s and open for 0.1 s, a minute: ", blocked)
		basis := fmt.Sprintf("%d seeds, %.0f cycles noticed to have been missed, %.0f deaths of blocked or dead nodes told; memberlist 59 deaths, 0 or 1 with Lifeguard", seeds, missed, deaths)
		b.add(
			line{what: what + "healthy nodes declared dead", ratio: falseDeaths, unit: "deaths", limit: 0, basis: basis},
			line{what: what + "returns of a dead node", ratio: resurrections, unit: "returns", limit: 0, basis: basis})
	}
}

// measureReboots measures goal G-GO-7: the share of quick reboots that every peer reports as a death
// and a return.
func measureReboots(b *measurement) {
	for _, nodes := range []int{64, 1024} {
		rounds := pick(b, 1, 125, 500)
		m := gossipsim.Measured{Nodes: nodes, Columns: 8, Loss: 0.01, Seed: 1}
		if b.effort() == aGlance {
			m.Nodes = 64
		}
		r := must(m.Reboot(rounds))
		b.check(nil)
		b.add(line{
			what:  fmt.Sprintf("quick reboots of which every peer was told as a death and a return, %d nodes", nodes),
			ratio: float64(r.Noticed) / float64(r.Made), limit: 1, least: true,
			basis: fmt.Sprintf("%d of %d, %d peers each; %d times a peer was told of a death after the new life had spoken", r.Noticed, r.Made, r.Peers, r.Mistakes),
		})
	}
}
