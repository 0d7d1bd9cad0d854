package rmcastsim_test

import (
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll/rmcast/rmcastsim"
)

// plans runs random plans, and returns in how many of them a measure was above 0.
func plans(t *testing.T, level scenario.Level, short, full, long int, draw func(seed uint64) string, measure string) {
	t.Helper()
	count := effort.Of(short, full, long)
	if effort.Race && !effort.Long() {
		count = short
	}
	some := 0
	for seed := range uint64(count) {
		if seed%1000 == 999 {
			t.Logf("%d of %d plans hold", seed+1, count)
		}
		res, err := rmcastsim.RunPlan(t.Context(), level, draw(seed), seed)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range res.Measures {
			if m.Name == measure && m.Value > 0 {
				some++
			}
		}
	}
	if some < count/4 {
		t.Errorf("%s in %d of %d plans only", measure, some, count)
	}
}

// TestMildPlans: RM-2, RM-21, RM-28, RM-36, G-RM-6: while nodes die, come back, stand still
// or are slow, join and leave, every message is released, and then all live members have
// delivered it once; only members that died, or were not well, are named as failed. In the
// end nothing is kept.
func TestMildPlans(t *testing.T) {
	plans(t, scenario.Machines, 60, 250, 10_000, rmcastsim.MildPlan, "datagrams sent again")
}

// TestWildPlans: RM-2, RM-21, RM-28, RM-A8, RM-A9: the same whatever networks and hosts do.
func TestWildPlans(t *testing.T) {
	plans(t, scenario.Machines, 60, 250, 10_000, rmcastsim.WildPlan, "datagrams sent again")
}

// TestStackPlans: RM-2, RM-36, RM-A22: the same of whole stacks.
func TestStackPlans(t *testing.T) {
	plans(t, scenario.Stacks, 10, 40, 1000, rmcastsim.MildPlan, "datagrams sent again")
	plans(t, scenario.Stacks, 10, 40, 1000, rmcastsim.WildPlan, "datagrams sent again")
}
