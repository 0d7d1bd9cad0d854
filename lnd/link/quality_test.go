package link

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Draws have the mean and variance of their distribution, within four
// standard errors; the seed is fixed.
func TestDistMoments(t *testing.T) {
	const n = 200_000
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		d                        Dist
		mean, variance, kurtosis float64 // expected moments of the shape, in ms
	}{
		{Dist{Base: 5 * ms}, 5, 0, 0},
		{Dist{5 * ms, 2 * ms, Uniform}, 5, 4.0 / 3, 1.8},
		{Dist{5 * ms, ms / 2, Normal}, 5, 0.25, 3},
		{Dist{5 * ms, 2 * ms, Exponential}, 7, 4, 9},
		{Dist{0, 2 * ms, Exponential}, 2, 4, 9},
	} {
		var sum, squares float64
		over := 0
		for range n {
			v := c.d.Draw(r)
			if v > c.d.Max() {
				over++
			}
			x := float64(v)/1e6 - c.mean
			sum += x
			squares += x * x
		}
		mean, variance := sum/n, squares/n
		if limit := 4 * math.Sqrt(c.variance/n); math.Abs(mean) > limit+1e-6 {
			t.Errorf("%v: the mean is off by %v ms, limit %v", c.d, mean, limit)
		}
		if limit := 4 * c.variance * math.Sqrt((c.kurtosis-1)/n); math.Abs(variance-c.variance) > limit+1e-5 {
			t.Errorf("%v: variance %v, want %v ± %v", c.d, variance, c.variance, limit)
		}
		if over > 1 || c.d.Mean() != time.Duration(c.mean*1e6) {
			t.Errorf("%v: %d draws over %v; mean %v, want %v ms", c.d, over, c.d.Max(), c.d.Mean(), c.mean)
		}
	}
}

func TestDrawIsNotNegative(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []Dist{{ms, 5 * ms, Uniform}, {ms, 5 * ms, Normal}, {0, 0, Uniform}, {maxDuration, maxDuration, Exponential}} {
		for range 10_000 {
			if v := d.Draw(r); v < 0 {
				t.Fatalf("%v: %v", d, v)
			}
		}
	}
}

func TestOutcome(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		q    Quality
		want Outcome
	}{
		{Quality{}, Outcome{Copies: 1}},
		{Quality{Loss: 1, Duplicate: 1, Reorder: 1}, Outcome{Lost: true}},
		{Quality{Latency: Dist{Base: ms}, Duplicate: 1}, Outcome{Copies: 2, Delays: [2]time.Duration{ms, ms}}},
		{Quality{Latency: Dist{Base: ms}, Reorder: 1}, Outcome{Copies: 1, Held: true, Delays: [2]time.Duration{2*ms + DefaultHold}}},
		{Quality{Latency: Dist{Base: ms}, Reorder: 1, Hold: Dist{Base: 7 * ms}}, Outcome{Copies: 1, Held: true, Delays: [2]time.Duration{8 * ms}}},
	} {
		if got := c.q.Draw(r); got != c.want {
			t.Errorf("%v: got %+v, want %+v", c.q, got, c.want)
		}
	}
}

func TestTransmission(t *testing.T) {
	for _, c := range []struct {
		rate int64
		size int
		want time.Duration
	}{
		{0, 1 << 30, 0},
		{1e9, 125, time.Microsecond},
		{10e6, 1250, ms},
		{8, 1, time.Second},
		{1, math.MaxInt32 * 1000, maxDuration},
	} {
		q := Quality{Rate: c.rate}
		if got := q.Transmission(c.size); got != c.want {
			t.Errorf("%d bytes at %d: %v, want %v", c.size, c.rate, got, c.want)
		}
	}
}
