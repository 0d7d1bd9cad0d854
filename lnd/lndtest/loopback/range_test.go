package loopback

import "testing"

func TestOutside(t *testing.T) {
	for _, tt := range []struct {
		kernels   portRange
		low, high int // lowest and highest port that the function may return
		not, till int // first and last port that the function must not return; 0: there are none
	}{
		{portRange{32_768, 60_999}, 10_000, 65_535, 32_768, 60_999},
		{portRange{1024, 60_000}, 60_001, 65_535, 0, 0},
		{portRange{40_000, 65_535}, 10_000, 39_999, 0, 0},
		{portRange{1024, 5000}, 10_000, 65_535, 0, 0},
		{portRange{1024, 65_534}, 65_535, 65_535, 0, 0},
		{portRange{1024, 65_535}, 10_000, 65_535, 0, 0}, // no port would be left, so any may be given
	} {
		for range 1000 {
			p := int(tt.kernels.outside())
			if p < tt.low || p > tt.high || tt.till > 0 && p >= tt.not && p <= tt.till {
				t.Fatalf("%+v: port %d", tt.kernels, p)
			}
		}
	}
}
