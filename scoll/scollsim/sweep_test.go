package scollsim_test

import (
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
	"ulnet/scoll/scollsim"
)

// TestServicePlans: G-SC-8: services fail in all ways, at any rank. Every broadcast ends in
// time, and each member is exactly once in the root's answer or among the missing ones.
func TestServicePlans(t *testing.T) {
	spec.Covers(t, "G-SC-8")
	sweep(t, scollsim.ServicePlan, "members not reached", scenario.Machines, effort.Seeds(30, 35, 10_000))
	sweep(t, scollsim.ServicePlan, "members not reached", scenario.Stacks, effort.Seeds(4, 4, 1000))
}

// TestFaultPlans: SC-3, SC-139 and G-SC-3: networks, hosts and services have faults of all
// kinds. Every broadcast ends in time, exactly the members whose answer did not arrive are
// reported missing, and each incarnation of a node runs the broadcast at most once.
func TestFaultPlans(t *testing.T) {
	spec.Covers(t, "SC-3", "SC-139", "G-SC-3")
	sweep(t, scollsim.FaultPlan, "members not reached", scenario.Machines, effort.Seeds(60, 80, 10_000))
	sweep(t, scollsim.FaultPlan, "members not reached", scenario.Stacks, effort.Seeds(6, 8, 1000))
}

// TestErringPlans: SC-A20, SC-158: discovery errs as gossip does while broadcasts go out. The expectations are those of
// TestFaultPlans.
func TestErringPlans(t *testing.T) {
	spec.Covers(t, "SC-158", "SC-A20")
	sweep(t, scollsim.ErringPlan, "members not reached", scenario.Machines, effort.Seeds(25, 30, 5000))
	sweep(t, scollsim.ErringPlan, "members not reached", scenario.Stacks, effort.Seeds(3, 4, 500))
}

// TestFloodPlans: SC-3, SC-A30: as TestFaultPlans, but members have few slots, and several
// roots broadcast many times at the same time. Held requests end as well, and a member that is
// reported as busy has not run the request.
func TestFloodPlans(t *testing.T) {
	spec.Covers(t, "SC-3", "SC-A30")
	sweep(t, scollsim.FloodPlan, "requests that were held", scenario.Machines, effort.Seeds(20, 25, 5000))
	sweep(t, scollsim.FloodPlan, "requests that were held", scenario.Stacks, effort.Seeds(3, 4, 500))
}

// sweep runs random plans, and checks their expectations. In at least a third of them the given
// measure has to be above 0.
func sweep(t *testing.T, draw func(uint64) string, measure string, level scenario.Level, plans int) {
	t.Helper()
	if with := scenariotest.Plans(t, scollsim.Protocol, level, plans, draw, measure); with < plans/3 {
		t.Errorf("%v: only %d of %d plans had %s", level, with, plans, measure)
	}
}
