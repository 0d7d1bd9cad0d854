package gossipsim_test

import (
	"testing"

	"ulnet/gossip/gossipsim"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/sim/scenario/scenariotest"
)

// TestPlans (GO-1, GO-A7, G-GO-9): nodes are cut off, die, come back or are paused, in any number, for any time, and
// several of these at the same time. No healthy node is declared dead, no dead node is declared alive, and in the end
// all nodes know all others.
func TestPlans(t *testing.T) {
	spec.Covers(t, "GO-1", "GO-A7", "G-GO-9")
	sweeps(t)
	count := effort.Seeds(16, 16, 10_000)
	some := scenariotest.Plans(t, gossipsim.Protocol, scenario.Machines, count, draw, "deaths told")
	if some < count/2 {
		t.Errorf("nodes died in %d of %d plans only", some, count)
	}
}

// TestPlansOnStacks (GO-1, GO-A7): the same on whole stacks. LNet keeps messages to a node that is out of reach while it
// tries to connect. Of those that wait too long none is delivered, because their ages would count as fresh. The plans of
// the seeds that are listed fail otherwise.
func TestPlansOnStacks(t *testing.T) {
	spec.Covers(t, "GO-1", "GO-A7")
	sweeps(t)
	for _, seed := range []uint64{9, 48} {
		if _, err := kit.RunPlan(t.Context(), gossipsim.Protocol, scenario.Stacks, draw(seed), seed); err != nil {
			t.Error(err)
		}
	}
	scenariotest.Plans(t, gossipsim.Protocol, scenario.Stacks, effort.Of(1, 1, 24), draw, "deaths told")
}

// TestPlansOfPauses: in these plans nodes are paused while others die, or most messages of a paused node are lost just
// after the pause, so that they fail if a rule of the machine for pauses is taken out (mutants plan-* of gossip/engine).
func TestPlansOfPauses(t *testing.T) {
	spec.Covers(t, "GO-A7", "GO-A9")
	for _, seed := range []uint64{5, 72, 135, 321} {
		if _, err := kit.RunPlan(t.Context(), gossipsim.Protocol, scenario.Machines, draw(seed), seed); err != nil {
			t.Error(err)
		}
	}
}
