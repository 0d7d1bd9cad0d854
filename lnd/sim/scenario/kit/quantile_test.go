package kit_test

import (
	"testing"
	"time"

	"ulnet/lnd/sim/scenario/kit"
)

// TestQuantile: quantiles of times in any order are taken by nearest rank.
func TestQuantile(t *testing.T) {
	if got := kit.Quantile(nil, 1); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	var times []time.Duration
	for i := range 10_000 {
		times = append(times, time.Duration(10_000-i)*time.Microsecond)
	}
	for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 1} {
		want := min(time.Duration(q*10_000)+1, 10_000) * time.Microsecond
		if got := kit.Quantile(times, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}
