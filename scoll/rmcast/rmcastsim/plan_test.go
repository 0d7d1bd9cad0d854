package rmcastsim_test

import (
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
	"ulnet/scoll/rmcast/rmcastsim"
)

// plans runs random plans: few, some or all, see effort.Seeds. At least a quarter of them must need repairs.
func plans(t *testing.T, level scenario.Level, few, some, all int, draw func(seed uint64) string) {
	t.Helper()
	count := effort.Seeds(few, some, all)
	if repaired := scenariotest.Plans(t, rmcastsim.Protocol, level, count, draw, "datagrams sent again"); repaired < count/4 {
		t.Errorf("datagrams were sent again in %d of %d plans only", repaired, count)
	}
}

// TestMildPlans: RM-2, RM-21, RM-28, RM-36, G-RM-6: nodes die, come back, are paused or slow,
// join and leave. Every message whose origin stays and has no fault is released, and at that time
// every live member has delivered it once. Only members that died, left or could not answer a new manager are named
// as failed. In the end the group is whole, and no message is kept.
func TestMildPlans(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-21", "RM-28", "RM-36", "G-RM-6")
	plans(t, scenario.Machines, 20, 40, 10_000, mildPlan)
}

// TestWildPlans: RM-2, RM-21, RM-28, RM-A8, RM-A9: as TestMildPlans, but with any faults of
// networks and hosts.
func TestWildPlans(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-21", "RM-28", "RM-A8", "RM-A9")
	plans(t, scenario.Machines, 20, 40, 10_000, wildPlan)
}

// TestStackPlans: RM-2, RM-36, RM-A22: as TestMildPlans, but with whole stacks.
func TestStackPlans(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-36", "RM-A22")
	plans(t, scenario.Stacks, 4, 6, 1000, mildPlan)
	plans(t, scenario.Stacks, 4, 6, 1000, wildPlan)
}
