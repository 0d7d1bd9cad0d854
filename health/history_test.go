package health

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestHistory: CH-61: the history has the latest evictions in order, in a ring of bounded size,
// and can be filtered.
func TestHistory(t *testing.T) {
	spec.Covers(t, "CH-61")
	var h history
	const more = 10
	for i := range keptHistory + more {
		h.add(Past{Event: Event{Incarnation: uint64(i)}})
	}
	all, matching := h.list(keptHistory*2, func(*Past) bool { return true })
	if len(all) != keptHistory || matching != keptHistory || all[0].Incarnation != more || all[keptHistory-1].Incarnation != keptHistory+more-1 {
		t.Errorf("%d of %d, from %d", len(all), matching, all[0].Incarnation)
	}
	odd, matching := h.list(2, func(p *Past) bool { return p.Incarnation%2 == 1 })
	if len(odd) != 2 || matching != keptHistory/2 || odd[0].Incarnation != keptHistory+more-3 || odd[1].Incarnation != keptHistory+more-1 {
		t.Errorf("%d of %d: %+v", len(odd), matching, odd)
	}
}
