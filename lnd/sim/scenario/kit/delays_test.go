package kit_test

import (
	"testing"
	"time"

	"ulnet/lnd/sim/scenario/kit"
)

// TestDelays: the shortest, longest and average delay are those of all that were added.
func TestDelays(t *testing.T) {
	var d kit.Delays
	if d.Mean() != 0 || d.Earliest != 0 || d.Latest != 0 {
		t.Errorf("of no delays: %+v", d)
	}
	for _, delay := range []time.Duration{4, 1, 7} {
		d.Add(delay)
	}
	if d.Earliest != 1 || d.Latest != 7 || d.Mean() != 4 {
		t.Errorf("of 4, 1 and 7: %+v, mean %d", d, d.Mean())
	}
}
