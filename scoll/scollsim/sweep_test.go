package scollsim_test

import (
	"os"
	"testing"

	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
	"ulnet/scoll/scollsim"
)

// TestFaultPlans: SC-3, SC-139 and G-SC-3: whatever networks, hosts and services
// do, every broadcast ends in time, names exactly the members whose answer did
// not arrive, and is run at most once by each life of a node.
func TestFaultPlans(t *testing.T) {
	sweep := func(level scenario.Level, plans int) {
		faulty := 0
		for seed := range uint64(plans) {
			text := scollsim.FaultPlan(seed)
			res := scenariotest.Run(t, parse(t, text), scenario.Options{Seed: &seed, Level: level})
			if scenariotest.Holds(t, res); t.Failed() {
				t.Fatalf("seed %d at %v:\n%s", seed, level, text)
			}
			for _, m := range res.Measures {
				if m.Name == "members not reached" && m.Value > 0 {
					faulty++
				}
			}
		}
		if faulty < plans/3 {
			t.Errorf("%v: only %d of %d plans had consequences", level, faulty, plans)
		}
	}
	switch {
	case os.Getenv("ULNET_LONG") != "":
		sweep(scenario.Machines, 10_000)
		sweep(scenario.Stacks, 1000)
	case testing.Short():
		sweep(scenario.Machines, 200)
		sweep(scenario.Stacks, 20)
	default:
		sweep(scenario.Machines, 500)
		sweep(scenario.Stacks, 60)
	}
}
