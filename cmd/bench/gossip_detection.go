package main

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"ulnet/cmd/bench/rival"
	"ulnet/gossip/gossipsim"
)

// measureDetection measures G-GO-3: how soon all nodes detect the death of a node.
func measureDetection(b *measurement) {
	for _, s := range []struct {
		nodes int
		limit float64
	}{{64, 3.6}, {pick(b, 250, 1000, 1000), 5.4}} {
		seeds := pick(b, 1, 20, 100)
		var last []float64
		limit := 0
		for seed := range uint64(seeds) {
			seed *= 7919 * seed
			res := must(kept(simulate(b.ctx, "gossip-death", seed, "NODES", s.nodes, "BEGIN", inCycle(seed), "VICTIM", 1+seed%uint64(s.nodes))))
			last = append(last, res.Measure("detected last after")*gossipsim.Interval.Seconds())
			limit = int(res.Measure("dead after more than")) + 1
		}
		b.add(line{
			what:  fmt.Sprintf("death noticed by the last of %d nodes, 5 %% loss, virtual time, worst", s.nodes),
			ratio: slices.Max(last), unit: "s", limit: s.limit,
			basis: fmt.Sprintf("median %.2f s of %d deaths, at most %d cycles of 200 ms allowed; memberlist 8.6 to 12.0 s at 64 to 128 nodes", median(last), seeds, limit),
		})
	}
	measureLoopback(b, pick(b, 12, 64, 64), pick(b, 1, 3, 8))
}

// inCycle returns an instant at which all nodes know each other. Where it lies within a cycle
// depends on the seed.
func inCycle(seed uint64) time.Duration {
	return 12*time.Second + time.Duration(seed%uint64(gossipsim.Interval))
}

// measureLoopback kills some of the processes that run gossip over loopback, and measures how soon
// the others detect it.
func measureLoopback(b *measurement, nodes, deaths int) {
	c := b.newCluster(system{name: "gossip"}, rival.Node{Nodes: nodes, Interval: gossipsim.Interval}, nil)
	defer c.end()
	c.join()
	var took []float64
	for i := range deaths {
		at, victim := time.Now(), nodes-1-i
		c.signal(syscall.SIGKILL, victim)
		took = append(took, c.told(rival.Down, victim, at).last.Seconds())
	}
	b.add(line{
		what:  fmt.Sprintf("death noticed by the last of %d agents over TCP on loopback, median", nodes),
		ratio: median(took), unit: "s", limit: 3.6,
		basis: fmt.Sprintf("%d processes killed, %.2f to %.2f s, wall time", deaths, slices.Min(took), slices.Max(took)),
	})
}
