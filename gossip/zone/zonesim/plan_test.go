package zonesim_test

import (
	"testing"
	"time"

	"ulnet/gossip/zone/zonesim"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/sim/scenario/scenariotest"
)

// plans runs a number of plans, and returns in how many of them nodes were removed.
func plans(t *testing.T, level scenario.Level, count int, draw func(seed uint64) string) int {
	t.Helper()
	return scenariotest.Plans(t, zonesim.Protocol, level, count, draw, "removals told")
}

// TestMildPlans: G-MS-8, MS-2, MS-3, MS-9, MS-10, MS-71, MS-100: nodes of each zone, delegates
// and supervisors too, die, restart, leave, are paused or are slow. With Θ=2 no healthy node is
// removed in that time. In the end all views, all attributes and the census are right.
func TestMildPlans(t *testing.T) {
	spec.Covers(t, "MS-2", "MS-3", "MS-9", "MS-10", "MS-71", "MS-100", "G-MS-8")
	count := effort.Seeds(16, 20, 10_000)
	mild := func(seed uint64) string { return mildPlan(seed, 300*time.Millisecond) }
	if some := plans(t, scenario.Machines, count, mild); some < count/2 {
		t.Errorf("nodes were removed in %d of %d plans only", some, count)
	}
}

// TestPlansOfDelegates: in these mild plans a whole zone leaves, and a delegate is a monitor. They fail if rules of the
// machine are taken out (mutants plan-* of gossip/zone/engine).
func TestPlansOfDelegates(t *testing.T) {
	spec.Covers(t, "MS-59", "MS-98")
	for _, seed := range []uint64{0, 13} {
		if _, err := kit.RunPlan(t.Context(), zonesim.Protocol, scenario.Machines, mildPlan(seed, 300*time.Millisecond), seed); err != nil {
			t.Error(err)
		}
	}
}

// TestWildPlans: MS-1, MS-2, MS-71, MS-100, MS-A7, MS-A9: after any faults, all views,
// attributes and the census become right in the end.
func TestWildPlans(t *testing.T) {
	spec.Covers(t, "MS-1", "MS-2", "MS-71", "MS-100", "MS-A7", "MS-A9")
	count := effort.Seeds(12, 16, 10_000)
	if some := plans(t, scenario.Machines, count, wildPlan); some < count/3 {
		t.Errorf("nodes were removed in %d of %d plans only", some, count)
	}
}

// TestCutPlans: G-MS-10, MS-2, MS-9, MS-A7: there are partitions of all lengths, and one-way
// cuts. No node removes a node from which it is not separated, and in the end all views and the
// census are right.
func TestCutPlans(t *testing.T) {
	spec.Covers(t, "MS-2", "MS-9", "MS-A7", "G-MS-10")
	count := effort.Seeds(8, 12, 3000)
	if some := plans(t, scenario.Machines, count, cutPlan); some < count/4 {
		t.Errorf("nodes were removed in %d of %d plans only", some, count)
	}
}
