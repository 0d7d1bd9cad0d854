package scenariotest

import (
	"testing"

	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

// Plans runs count plans of a protocol, in which all checks have to hold, and returns in how
// many of them a measure was above 0.
func Plans(t testing.TB, p *scenario.Protocol, level scenario.Level, count int, draw func(seed uint64) string, measure string) (some int) {
	t.Helper()
	plans, err := kit.RunPlans(t.Context(), p, level, 0, count, draw)
	if err != nil {
		t.Fatal(err)
	}
	if len(plans.Failed) > 0 {
		t.Errorf("%d of %d plans on %v fail, with seeds %v; first: %v", len(plans.Failed), count, level, plans.Failed, plans.First)
	}
	return plans.Some[measure]
}
