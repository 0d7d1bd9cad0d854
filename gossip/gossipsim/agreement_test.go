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

// TestMisconfigured (GO-67, GO-A5): one node of 32 has other parameters. With Strict all nodes
// stop; otherwise only that node stops, soon.
func TestMisconfigured(t *testing.T) {
	spec.Covers(t, "GO-67", "GO-A5")
	for _, what := range []string{"list", "interval"} {
		for seed := range uint64(10) {
			f := parse(t, fmt.Sprintf(`protocol gossip
nodes 32
run 30s
link latency 1ms±200µs loss 1%%
at 3s do 7 misconfigure %s
expect stopped 7 within 1s
expect alive 31 1-6,8-32
expect dead 7 1-6,8-32
expect quorum 1-6,8-32
`, what))
			scenariotest.Holds(t, scenariotest.Run(t, f, scenario.Options{Seed: &seed}))
		}
	}
}

// TestStrictMisconfigured (GO-67, GO-A5): with Strict, a node with another interval stops all
// nodes that it pings. The pings of the others have no parameters, so it does not notice the
// difference itself.
func TestStrictMisconfigured(t *testing.T) {
	spec.Covers(t, "GO-67", "GO-A5")
	net := newNet(t, gossipsim.Config{Network: scenario.Network{Nodes: 32, Seed: 1}, Gossip: gossip.Config{ColdStart: true, Strict: true}})
	runNet(t, net, 10*time.Second)
	net.Command(6, "misconfigure interval")
	runNet(t, net, 30*time.Second)
	stopped := 0
	for id := range sim.NodeID(32) {
		if net.Stopped(id) {
			stopped++
		}
	}
	if stopped < 12 {
		t.Errorf("%d nodes have stopped, want most that were pinged", stopped)
	}
}

// TestListChange (GO-78, GO-A21): 32 nodes grow to 34 and shrink to 30, without a false death.
func TestListChange(t *testing.T) {
	spec.Covers(t, "GO-78", "GO-A21")
	f := parse(t, `protocol gossip
nodes 34
run 2m30s
link latency 1ms±200µs loss 1%
boot 33-34 at 8s
set members 32
expect alive 32 by 3s
at 5s do 1-32 stage 1-34
at 10s do 1-16 commit
at 11s do 17-32 commit
expect list 34 at 12s
expect alive 34 within 6s
at 2m do 1-34 stage 1-30
at 2m10s do 1-34 commit
expect stopped 31-34 at 2m11s
expect list 30 at 2m11s
expect alive 30 at 2m11s
expect alive 30
always no-false-death
`)
	for seed := range effort.Of[uint64](2, 2, 5) {
		scenariotest.Holds(t, scenariotest.Run(t, f, scenario.Options{Seed: &seed}))
	}
	scenariotest.Holds(t, scenariotest.Run(t, f, scenario.Options{Level: scenario.Stacks}))
}
