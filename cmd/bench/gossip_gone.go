package main

import (
	"fmt"
	"time"

	"ulnet/gossip/gossipsim"
)

// measureGone measures goal G-GO-9.
func measureGone(b *measurement) {
	cells := []struct{ gone, nodes int }{{7, 16}, {15, 32}, {30, 64}, {60, 128}, {120, 256}, {66, 99}}
	if b.effort() == aGlance {
		cells = append(cells[:1], cells[5])
	}
	lasting := pick(b, 20*time.Second, 300*time.Second, 300*time.Second)
	for _, c := range cells {
		for _, loss := range []float64{0, 0.05} {
			told, deaths, most, seeds := uint64(0), uint64(0), 0.0, pick(b, 1, 10, 50)
			for seed := range uint64(seeds) {
				m := gossipsim.Measured{Nodes: c.nodes, Loss: loss, Seed: 7919 * seed}
				happens := func() (gossipsim.Gone, error) { return m.MassDeath(c.gone, lasting) }
				if c.nodes == 99 {
					happens = func() (gossipsim.Gone, error) { return m.Islands(3, lasting) }
				}
				g := must(happens())
				b.check(nil)
				told, deaths, most = told+g.Outcome.FalseDeaths+g.Outcome.FewDeaths, deaths+g.Outcome.Deaths, max(most, g.After/g.Before)
			}
			what := fmt.Sprintf("%d of %d nodes dead, %.0f %% loss: ", c.gone, c.nodes, loss*100)
			if c.nodes == 99 {
				what = fmt.Sprintf("three islands of 33 nodes, %.0f %% loss: ", loss*100)
			}
			b.add(
				line{what: what + "healthy nodes declared dead", ratio: float64(told), unit: "deaths", basis: fmt.Sprintf("%d seeds of %v, %d deaths told rightly", seeds, lasting, deaths-told)},
				line{what: what + "traffic of a node that is left, beside that before, worst", ratio: most, limit: 2, basis: "bytes per cycle"})
		}
	}
}
