package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll"
	"ulnet/scoll/scollsim"
	"ulnet/scoll/tree"
)

// unitOverhead is the time between two sends of a node, for measurements whose results are
// ratios to this time.
const unitOverhead = 10 * time.Microsecond

// evenLinks returns links that all have the same latency.
func evenLinks(latency time.Duration) *sim.Flat {
	return &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: latency}}}
}

// jitteredLinks returns links whose latency is drawn uniformly between 0.5 and 1.5 times the
// given one.
func jitteredLinks(latency time.Duration) *sim.Flat {
	return &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: latency, Spread: latency / 2, Shape: link.Uniform}}}
}

// measureSpread measures goal G-SC-1: how long a broadcast down the recommended tree takes to reach
// the last leaf.
func measureSpread(b *measurement) {
	sizes := pick(b, []int{8, 100}, []int{2, 3, 8, 31, 64, 100, 256, 500, 512, 1000, 1024}, []int{2, 3, 5, 8, 31, 32, 64, 99, 100, 128, 255, 256, 257, 500, 512, 700, 1000, 1023, 1024})
	var analytic, optimum, binomial float64
	var worst string
	runs := 0
	for _, n := range sizes {
		for ratio := time.Duration(1); ratio <= 16; ratio++ {
			b.check(nil)
			latency := ratio * unitOverhead
			k := tree.Recommend(n, latency, unitOverhead)
			took := spread(b, n, latency, k)
			runs++
			best := float64(tree.Optimum(n, latency, unitOverhead))
			analytic = max(analytic, float64(took)/float64(tree.Latency(k, n, latency, unitOverhead)))
			binomial = max(binomial, float64(tree.Latency(tree.KNomial(2), n, latency, unitOverhead))/best)
			if r := float64(took) / best; r > optimum {
				optimum, worst = r, fmt.Sprintf("%d nodes, l/o %d, %v", n, ratio, k)
			}
		}
	}
	basis := fmt.Sprintf("%d broadcasts of %d to %d nodes, l/o 1 to 16", runs, sizes[0], sizes[len(sizes)-1])
	b.add(
		line{what: "one-way to the last leaf with the recommended K, to the tree's analytic time, worst", ratio: analytic, limit: 1.05, basis: basis},
		line{what: "the same, to the LogP optimum, worst", ratio: optimum, limit: 1.28, basis: fmt.Sprintf("%s; a binomial tree %.2f", worst, binomial)},
		computed(b),
	)
}

// spread returns how long a broadcast takes until the last member has received it.
func spread(b *measurement, n int, latency time.Duration, k tree.KNomial) time.Duration {
	_, r := must2(scollsim.Measured(scollsim.Config{
		Network: scenario.Network{Nodes: n, Topology: evenLinks(latency)}, Overhead: unitOverhead, Bare: true,
		Tree: scoll.Tree{Type: scoll.KNomial, K: uint32(k)}, Scoll: scoll.Config{RTT: time.Second},
	}, "oob", ""))
	if len(r.Answered) != n-1 {
		b.check(fmt.Errorf("%d of %d members answered", len(r.Answered), n-1))
	}
	return r.LastRun - r.Begun
}

// computed returns the line for the second bound of G-SC-1, the ratio to the LogP optimum, which it
// computes for all sizes. The first bound verifies that the state machines achieve the computed times.
func computed(b *measurement) line {
	worst, where := 0.0, ""
	step := pick(b, 100, 1, 1)
	for n := 2; n <= 1024; n += step {
		for ratio := time.Duration(1); ratio <= 16; ratio++ {
			k := tree.Recommend(n, ratio, 1)
			if r := float64(tree.Latency(k, n, ratio, 1)) / float64(tree.Optimum(n, ratio, 1)); r > worst {
				worst, where = r, fmt.Sprintf("%d nodes, l/o %d, %v", n, ratio, k)
			}
		}
	}
	return line{what: "analytic time of the recommended tree to the LogP optimum, worst of all sizes up to 1024", ratio: worst, limit: 1.28, basis: where}
}

// measureFailures measures G-SC-3: when a broadcast with failed members ends, and what it reports.
func measureFailures(b *measurement) {
	measureMuteLeaf(b, pick(b, 3, 100, 1000))
	measureDeadInner(b)
	measurePlans(b, "random fault plans", true)
}

// measureMuteLeaf measures broadcasts in a binomial tree of 16 nodes whose deepest leaf does not
// answer, because either its service or its host sends nothing. Four levels wait for its answer.
func measureMuteLeaf(b *measurement, seeds int) {
	const rtt, guard = 2 * time.Millisecond, 5 * time.Millisecond
	bound := ms(4*rtt + 5*guard)
	worst, wrong := 0.0, 0
	for seed := range uint64(seeds) {
		res := must(simulate(b.ctx, "mute-leaf", seed, "FAULT", []string{"do 16 service mute", "crash 16"}[seed%2]))
		worst = max(worst, res.Measure("longest time to the result"))
		if !res.OK() {
			wrong++
		}
	}
	basis := fmt.Sprintf("%d runs, R %v, g %v, messages take half as long to half as long again", seeds, rtt, guard)
	b.add(
		line{what: "one mute leaf at depth 4: time to the root's result, to 4 R + 5 g, worst", ratio: worst / bound, limit: 1, basis: fmt.Sprintf("%.1f : %.1f ms; %s", worst, bound, basis)},
		line{what: "the same: runs in which the root names another set than the leaf", ratio: float64(wrong), unit: "runs", limit: 0, basis: basis},
	)
}

// measureDeadInner measures broadcasts with a crashed inner node, for each inner node, without a
// failure detector.
func measureDeadInner(b *measurement) {
	cases, wrong := 0, 0
	for _, shape := range []struct {
		name     string
		k        int
		topology tree.Topology
	}{{"k-nomial", 2, tree.KNomial(2)}, {"k-nomial", 4, tree.KNomial(4)}, {"k-ary", 3, tree.KAry(3)}} {
		for _, nodes := range []int{16, 50} {
			t := tree.Tree{Topology: shape.topology, N: nodes}
			for rank := 1; rank < nodes; rank++ {
				if t.Size(rank) == 1 {
					continue
				}
				var below []sim.NodeID
				for _, r := range t.AppendSubtree(nil, rank) {
					below = append(below, sim.NodeID(r))
				}
				res := must(simulate(b.ctx, "dead-inner", 0, "NODES", nodes, "TREE", shape.name, "WIDTH", shape.k, "INNER", sim.NodeID(rank), "BELOW", sim.Nodes(below...)))
				cases++
				if !res.OK() {
					wrong++
				}
			}
		}
	}
	b.add(line{
		what: "one dead inner node: trees in which the root names another set than its subtree", ratio: float64(wrong), unit: "trees", limit: 0,
		basis: fmt.Sprintf("every inner node of 6 trees, %d broadcasts", cases),
	})
}

// measureServices measures the part of goal G-SC-8 in virtual time: whether the root reports exactly the members
// whose services fail.
func measureServices(b *measurement) {
	measurePlans(b, "plans with failing, late, silent and aborting services", false)
}

// drawTroubled returns the text of the scenario "troubled", with values drawn from a seed. Three
// commands of the scenario make services bad. Together they affect about one service in six if faults
// is true, and otherwise every second one.
func drawTroubled(seed uint64, faults bool) string {
	p := kit.NewPlan(seed, 7)
	nodes := 2 + p.IntN(39)
	bad, link, failing := 1+nodes/6, "", ""
	if faults {
		bad = 1 + nodes/18
		link = fmt.Sprintf("loss %s duplicate %s reorder %s", p.Pick("0%", "1%", "5%"), p.Pick("0%", "10%"), p.Pick("0%", "20%"))
		kinds := []string{"kill", "crash", "pause", "partition", "cut", "loss", "duplicate", "reorder", "latency", "skew", "slow"}
		p.Mix(kinds)
		failing = fmt.Sprintf("random faults %d from 1.5s to 11s of %s", 1+p.IntN(1+min(nodes/6, 6)), strings.Join(kinds[:1+p.IntN(4)], " "))
	}
	service := func() string {
		return p.Pick("mute", "slow 5ms", "slow 30ms", "slow 300ms", "rejects", "fails", "stuck", "aborts", "below", "parts", "large")
	}
	return must(scenarioText("troubled", "NODES", nodes, "BAD", bad, "LINK", link, "FAULTS", failing, "FIRST", service(), "SECOND", service(), "THIRD", service(),
		"TREE", p.Pick("k-nomial", "k-ary", "flat"), "WIDTH", 1+p.IntN(5), "KIND", p.Pick("delayed", "immediate", "oob"), "DISCOVERY", p.Pick("0s", "20ms", "300ms"),
		"SEGMENT", p.Pick("0", "4096"), "CARRY", p.Pick("0", "40", "200", "4096")))
}

// measurePlans runs the scenario "troubled" at both levels of simulation.
func measurePlans(b *measurement, kind string, faults bool) {
	for _, level := range []scenario.Level{scenario.Machines, scenario.Stacks} {
		count := pick(b, 20, 10_000, 50_000)
		if level == scenario.Stacks {
			count = max(count/20, 5)
		}
		p := must(kit.RunPlans(b.ctx, scollsim.Protocol, level, 0, count, func(seed uint64) string { return drawTroubled(seed, faults) }))
		good, first := count-len(p.Failed), ""
		if p.First != nil {
			first = fmt.Sprintf("; %.60v", p.First)
		}
		runtime.GC()
		b.add(line{
			what:  fmt.Sprintf("%s on %v in which every broadcast ends in time with the exact set", kind, level),
			ratio: 100 * float64(good) / float64(count), unit: "%", limit: 100, least: true,
			basis: fmt.Sprintf("%d of %d plans, %.0f broadcasts, %.0f members not reached%s", good, count, p.Sum["broadcasts"], p.Sum["members not reached"], first),
		})
	}
}
