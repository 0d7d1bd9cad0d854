package scollsim_test

import (
	"os"
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
	switch {
	case os.Getenv("ULNET_LONG") != "":
		sweep(t, scollsim.ServicePlan, "members not reached", scenario.Machines, 10_000)
		sweep(t, scollsim.ServicePlan, "members not reached", scenario.Stacks, 1000)
	case testing.Short():
		sweep(t, scollsim.ServicePlan, "members not reached", scenario.Machines, 30)
		sweep(t, scollsim.ServicePlan, "members not reached", scenario.Stacks, 4)
	default:
		sweep(t, scollsim.ServicePlan, "members not reached", scenario.Machines, 35)
		sweep(t, scollsim.ServicePlan, "members not reached", scenario.Stacks, 4)
	}
}

// TestFaultPlans: SC-3, SC-139 and G-SC-3: networks, hosts and services have faults of all
// kinds. Every broadcast ends in time, exactly the members whose answer did not arrive are
// reported missing, and each incarnation of a node runs the broadcast at most once.
func TestFaultPlans(t *testing.T) {
	spec.Covers(t, "SC-3", "SC-139", "G-SC-3")
	switch {
	case os.Getenv("ULNET_LONG") != "":
		sweep(t, scollsim.FaultPlan, "members not reached", scenario.Machines, 10_000)
		sweep(t, scollsim.FaultPlan, "members not reached", scenario.Stacks, 1000)
	case testing.Short():
		sweep(t, scollsim.FaultPlan, "members not reached", scenario.Machines, 60)
		sweep(t, scollsim.FaultPlan, "members not reached", scenario.Stacks, 6)
	default:
		sweep(t, scollsim.FaultPlan, "members not reached", scenario.Machines, 80)
		sweep(t, scollsim.FaultPlan, "members not reached", scenario.Stacks, 8)
	}
}

// TestErringPlans: SC-A20, SC-158: discovery errs as gossip does while broadcasts go out. The expectations are those of
// TestFaultPlans.
func TestErringPlans(t *testing.T) {
	spec.Covers(t, "SC-158", "SC-A20")
	sweep(t, scollsim.ErringPlan, "members not reached", scenario.Machines, effort.Of(25, 30, 5000))
	sweep(t, scollsim.ErringPlan, "members not reached", scenario.Stacks, effort.Of(3, 4, 500))
}

// TestFloodPlans: SC-3, SC-A30: as TestFaultPlans, but members have few slots, and several
// roots broadcast many times at the same time. Held requests end as well, and a member that is
// reported as busy has not run the request.
func TestFloodPlans(t *testing.T) {
	spec.Covers(t, "SC-3", "SC-A30")
	sweep := func(level scenario.Level, plans int) {
		sweep(t, scollsim.FloodPlan, "requests that were held", level, plans)
	}
	switch {
	case os.Getenv("ULNET_LONG") != "":
		sweep(scenario.Machines, 5000)
		sweep(scenario.Stacks, 500)
	case testing.Short():
		sweep(scenario.Machines, 20)
		sweep(scenario.Stacks, 3)
	default:
		sweep(scenario.Machines, 25)
		sweep(scenario.Stacks, 4)
	}
}

// sweep runs random plans, and checks their expectations. In at least a third of them the given
// measure has to be above 0.
func sweep(t *testing.T, draw func(uint64) string, measure string, level scenario.Level, plans int) {
	t.Helper()
	if with := scenariotest.Plans(t, scollsim.Protocol, level, plans, draw, measure); with < plans/3 {
		t.Errorf("%v: only %d of %d plans had %s", level, with, plans, measure)
	}
}
