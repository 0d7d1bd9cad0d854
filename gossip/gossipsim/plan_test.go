package gossipsim_test

import (
	"testing"

	"ulnet/gossip/gossipsim"
	"ulnet/lnd/sim/scenario"
)

// TestPlans (GO-1, GO-A7, G-GO-9): whatever is cut off, dies, comes back or stands still,
// and for how long: no node that is fine is declared dead, no dead one comes back, and
// when it is over all know all.
func TestPlans(t *testing.T) {
	sweeps(t)
	count, some := 80, 0
	switch {
	case long():
		count = 1000
	case testing.Short():
		count = 30
	}
	for seed := range uint64(count) {
		res, err := gossipsim.RunPlan(t.Context(), scenario.Machines, gossipsim.Plan(seed), seed)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range res.Measures {
			if m.Name == "deaths told" && m.Value > 0 {
				some++
			}
		}
	}
	if some < count/2 {
		t.Errorf("nodes died in %d of %d plans only", some, count)
	}
}
