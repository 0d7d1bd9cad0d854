package lnd

import (
	"testing"
	"time"
)

// TestTimeout: from a transaction timeout and a number of retries, Timeout computes the time-out of
// drivers as Lustre does.
func TestTimeout(t *testing.T) {
	for _, tt := range []struct {
		transaction time.Duration
		retries     int
		want        time.Duration
	}{
		{150 * time.Second, 2, 49 * time.Second}, // the defaults of Lustre 2.16
		{50 * time.Second, 2, 16 * time.Second},  // the defaults of Lustre 2.15
		{50 * time.Second, 0, 49 * time.Second},
		{2 * time.Second, 5, time.Second},
		{0, 2, time.Second},
	} {
		if got := Timeout(tt.transaction, tt.retries); got != tt.want {
			t.Errorf("Timeout(%v, %d) = %v, want %v", tt.transaction, tt.retries, got, tt.want)
		}
	}
}
