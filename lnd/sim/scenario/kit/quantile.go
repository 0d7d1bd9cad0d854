package kit

import (
	"slices"
	"time"
)

// Quantile sorts times, and returns their q-quantile: the median for a q of 0.5. It returns 0 if
// there are no times.
func Quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(int(q*float64(len(times))), len(times)-1)]
}
