package gossipsim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/engine"
	"ulnet/gossip/gossipsim"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

// TestManyDead (G-GO-9): while almost half of the participants are dead, and in partitions without a quorum, no
// participant that is alive and reachable is declared dead. Deaths are detected as fast as usual, and the
// traffic does not double.
func TestManyDead(t *testing.T) {
	spec.Covers(t, "G-GO-9")
	sweeps(t)
	cells := []struct{ dead, nodes int }{{7, 16}, {15, 32}, {30, 64}, {60, 128}, {120, 256}, {0, 99}}
	lasting, seeds := 40*time.Second, uint64(1)
	switch {
	case effort.Long():
		lasting, seeds = 5*time.Minute, effort.Seeds[uint64](1, 1, 10)
	case testing.Short():
		cells = cells[2:3]
	default:
		cells = []struct{ dead, nodes int }{{30, 64}, {0, 99}}
	}
	for _, c := range cells {
		for _, loss := range []int{0, 5} {
			t.Run(fmt.Sprintf("%d of %d, loss %d %%", c.dead, c.nodes, loss), func(t *testing.T) {
				for seed := range seeds {
					manyDead(t, c.dead, c.nodes, loss, 7919*seed, lasting)
				}
			})
		}
	}
}

// manyDead runs a scenario that waits until messages carry no parameters any more. Then it crashes as many
// nodes as dead says or, if dead is 0, partitions the nodes into three parts. It checks that all deaths are
// detected in time, that no live node is declared dead, and that the traffic does not double.
func manyDead(t *testing.T, dead, nodes, loss int, seed uint64, lasting time.Duration) {
	t.Helper()
	limits, err := engine.Config{Interval: gossipsim.Interval}.Limits(nodes)
	if err != nil {
		t.Fatal(err)
	}
	settled := time.Duration(nodes+60) * gossipsim.Interval
	begin := settled + 12*time.Second + time.Duration(seed%uint64(gossipsim.Interval))
	noticed := begin + time.Duration(limits.Dead+2)*gossipsim.Interval
	left, fault := nodes-dead, fmt.Sprintf("crash 1-%d", dead)
	if dead == 0 {
		fault = fmt.Sprintf("partition 1-%d | %d-%d | %d-%d", nodes/3, nodes/3+1, 2*nodes/3, 2*nodes/3+1, nodes)
	}
	text := fmt.Sprintf("protocol gossip\nnodes %d\nrun %v\ncheck every 200ms\nlink latency 1ms±200µs loss %d%%\nat %v %s\nexpect detected-within %d at %v\n",
		nodes, begin+lasting, loss, begin, fault, limits.Dead+1, noticed)
	var reports []scenario.Progress
	res := scenariotest.Run(t, parse(t, text), scenario.Options{Seed: &seed, Progress: func(p scenario.Progress) { reports = append(reports, p) }})
	scenariotest.Holds(t, res)
	if res.Measure("false deaths") > 0 || res.Measure("resurrections") > 0 || res.Measure("deaths told") == 0 {
		t.Errorf("seed %d: %+v", seed, res.Measures)
	}
	before := rate(reports, settled, begin) / float64(nodes)
	if after := rate(reports, noticed, begin+lasting) / float64(left); !(after <= 2*before) {
		t.Errorf("seed %d: a node sends %.0f bytes a second before, and %.0f while many are dead", seed, before, after)
	}
}

// rate returns how many bytes the nodes sent per second between two instants of a run, which
// has about a hundred reports of its progress.
func rate(reports []scenario.Progress, from, to time.Duration) float64 {
	reports = slices.DeleteFunc(slices.Clone(reports), func(p scenario.Progress) bool { return p.Virtual < from || p.Virtual > to })
	first, last := reports[0], reports[len(reports)-1]
	return float64(last.Stats.SentBytes-first.Stats.SentBytes) / (last.Virtual - first.Virtual).Seconds()
}

// TestNoSecondPartner: if no node is dead, a cycle has one ping. At most one cycle in fifty has
// a second ping, because the first partner seems to be dead.
func TestNoSecondPartner(t *testing.T) {
	sweeps(t)
	for _, nodes := range []int{8, 64, 256} {
		net := newNet(t, gossipsim.Config{Network: scenario.Network{Nodes: nodes, Seed: 1, Topology: gossipsim.Flat(0.05)}})
		runNet(t, net, 20*time.Second)
		before := net.Counters()
		runNet(t, net, 80*time.Second)
		after := net.Counters()
		if second, all := after.SecondPings-before.SecondPings, after.PingsSent-before.PingsSent; second*50 > all {
			t.Errorf("%d nodes: %d of %d pings are second ones", nodes, second, all)
		}
	}
}
