package gossipsim_test

import (
	"fmt"
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/gossip/gossipsim"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

// letter has, for strict mode off and on, the value of the scenario option "set strict".
var letter = map[bool]string{false: "off", true: "on"}

// Some nodes alternate between pauses of 8 s and runs of 0.1 s, while the last node dies.
const turns = `protocol gossip
nodes 64
run 105s
link latency 1ms±200µs loss 1%%
set strict %s
every 8.1s from %v to %v pause 1-%d for 8s
at %v crash 64
`

// TestPausedNodes (GO-65, GO-A7, GO-A9): nodes that are paused again and again consider no
// healthy node dead, do not make others do so, and make no dead node appear alive. In strict mode
// some healthy nodes are considered dead, and some dead nodes appear alive.
func TestPausedNodes(t *testing.T) {
	spec.Covers(t, "GO-65", "GO-A7", "GO-A9")
	sweeps(t)
	seeds := effort.Seeds(1, 1, 50)
	falseDeaths, resurrections := 0.0, 0.0 // counts of the runs in strict mode
	for seed := range uint64(seeds) {
		for _, blocked := range []int{4, 16} {
			seed := seed * 7919
			run := func(strict bool) *scenario.Result {
				begin := at(seed)
				text := fmt.Sprintf(turns, letter[strict], begin, begin+time.Minute, blocked, begin+20*time.Second)
				return scenariotest.Run(t, parse(t, text), scenario.Options{Seed: &seed})
			}
			res := run(false)
			if res.Measure("false deaths")+res.Measure("resurrections") > 0 || res.Measure("detected last after") == 0 || res.Measure("cycles missed") == 0 {
				t.Errorf("seed %d, %d blocked: %+v", seed, blocked, res.Measures)
			}
			res = run(true)
			falseDeaths += res.Measure("false deaths")
			resurrections += res.Measure("resurrections")
		}
	}
	if falseDeaths == 0 || resurrections == 0 {
		t.Errorf("strict: %v false deaths, %v resurrections, want some", falseDeaths, resurrections)
	}
}

// TestResurrection (GO-A7): node 1 is paused while node 2 dies. When node 1 resumes, it still has
// a low age of node 2. Nevertheless no node considers node 2 alive again. In strict mode some do.
func TestResurrection(t *testing.T) {
	spec.Covers(t, "GO-A7")
	sweeps(t)
	seeds := effort.Seeds(2, 2, 50)
	for _, strict := range []bool{false, true} {
		count := 0
		for _, n := range []int{64, 128} {
			f := parse(t, fmt.Sprintf(`protocol gossip
nodes %d
run 20s
link latency 1ms±200µs
set strict %s
at 5s pause 1
at 5s crash 2
at 15s resume 1
expect resurrections > 0
`, n, letter[strict]))
			for seed := range uint64(seeds) {
				res := scenariotest.Run(t, f, scenario.Options{Seed: &seed})
				if res.Expects[0].OK {
					count++
				}
			}
		}
		if !strict && count > 0 || strict && count < seeds {
			t.Errorf("strict %v: the dead came back in %d of %d runs", strict, count, 2*seeds)
		}
	}
}

// TestWholeClusterPaused (GO-A8): a cluster that was paused as a whole reports no death and
// loses no quorum when it resumes.
func TestWholeClusterPaused(t *testing.T) {
	spec.Covers(t, "GO-A8")
	sweeps(t)
	for _, nodes := range []int{8, 64, 200} {
		for seed := range uint64(5) {
			net := newNet(t, gossipsim.Config{Network: scenario.Network{Nodes: nodes, Seed: seed}, Gossip: gossip.Config{ColdStart: true}})
			runNet(t, net, 10*time.Second)
			before := net.Outcome()
			for id := range sim.NodeID(nodes) {
				net.Pause(id)
			}
			runNet(t, net, 50*time.Second)
			for id := range sim.NodeID(nodes) {
				net.Resume(id)
			}
			for at := 50 * time.Second; at < 60*time.Second; at += gossipsim.Interval {
				runNet(t, net, at)
				if ok, why := net.Quorum(sim.AllNodes, true); !ok {
					t.Errorf("%d nodes, seed %d at %v: %s", nodes, seed, at, why)
				}
			}
			if after := net.Outcome(); after.Deaths != before.Deaths {
				t.Errorf("%d nodes, seed %d: %d deaths", nodes, seed, after.Deaths-before.Deaths)
			}
			if ok, why := net.AliveExactly(nodes, sim.AllNodes); !ok {
				t.Errorf("%d nodes, seed %d: %s", nodes, seed, why)
			}
		}
	}
}

// TestNoQuorumLossOnWaking (GO-A8): a node that resumes reports no death of nodes that were
// alive all the time, and keeps its quorum.
func TestNoQuorumLossOnWaking(t *testing.T) {
	spec.Covers(t, "GO-A8")
	sweeps(t)
	for seed := range uint64(10) {
		res := scenariotest.Run(t, parse(t, `protocol gossip
nodes 64
run 90s
link latency 1ms±200µs loss 1%
at 10s pause 1 for 40s
always known 3-64 1
always quorum 1
expect views-equal
expect alive 64
always no-false-death
`), scenario.Options{Seed: &seed})
		for _, o := range res.Expects {
			if !o.OK && o.At > 5e9 { // before 5 s the cluster is starting
				t.Errorf("seed %d: %s: failed at %v: %s", seed, o.Text, o.At, o.Why)
			}
		}
	}
}

// TestManyWake (GO-A8): half of the nodes are paused and resume together. At first they hear
// mostly each other, and learn no ages of the rest. Nevertheless they consider no node dead.
func TestManyWake(t *testing.T) {
	spec.Covers(t, "GO-A8")
	for seed := range uint64(60) {
		f := parse(t, `protocol gossip
nodes 14
run 40s
link latency 1ms±200µs
at 10s pause 5-11 for 18s
always no-false-death
always no-resurrection
expect views-equal
expect alive 14
`)
		scenariotest.Holds(t, scenariotest.Run(t, f, scenario.Options{Seed: &seed}))
	}
}

// TestQueuedPings (GO-A9): a node that was paused for longer than the limit of obsolete
// messages has dozens of pings queued. It merges none of them until its own clock has advanced.
// So a node that died during the pause stays dead for all nodes, in whatever order timer and
// messages are handled.
func TestQueuedPings(t *testing.T) {
	spec.Covers(t, "GO-A9")
	for seed := range uint64(20) {
		f := parse(t, `protocol gossip
nodes 32
run 60s
link latency 1ms±200µs
at 5s pause 1 for 20s
at 6s crash 9
at 10s crash 10
at 24s crash 11
always no-resurrection
always no-false-death
expect dead 9-11 at 40s
expect alive 29
`)
		scenariotest.Holds(t, scenariotest.Run(t, f, scenario.Options{Seed: &seed}))
	}
}
