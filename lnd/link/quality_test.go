package link_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"ulnet/lnd/link"
)

// Draws have the mean and variance of their distribution, within four
// standard errors; the seed is fixed.
func TestDistMoments(t *testing.T) {
	const n = 200_000
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		d                        link.Dist
		mean, variance, kurtosis float64 // expected moments of the shape, in ms
	}{
		{link.Dist{Base: 5 * ms}, 5, 0, 0},
		{link.Dist{5 * ms, 2 * ms, link.Uniform}, 5, 4.0 / 3, 1.8},
		{link.Dist{5 * ms, ms / 2, link.Normal}, 5, 0.25, 3},
		{link.Dist{5 * ms, 2 * ms, link.Exponential}, 7, 4, 9},
		{link.Dist{0, 2 * ms, link.Exponential}, 2, 4, 9},
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
	for _, d := range []link.Dist{{ms, 5 * ms, link.Uniform}, {ms, 5 * ms, link.Normal}, {0, 0, link.Uniform}, {link.MaxDuration, link.MaxDuration, link.Exponential}} {
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
		q    link.Quality
		want link.Outcome
	}{
		{link.Quality{}, link.Outcome{Copies: 1}},
		{link.Quality{Loss: 1, Duplicate: 1, Reorder: 1}, link.Outcome{Lost: true}},
		{link.Quality{Latency: link.Dist{Base: ms}, Duplicate: 1}, link.Outcome{Copies: 2, Delays: [2]time.Duration{ms, ms}}},
		{link.Quality{Latency: link.Dist{Base: ms}, Reorder: 1}, link.Outcome{Copies: 1, Held: true, Delays: [2]time.Duration{2*ms + link.DefaultHold}}},
		{link.Quality{Latency: link.Dist{Base: ms}, Reorder: 1, Hold: link.Dist{Base: 7 * ms}}, link.Outcome{Copies: 1, Held: true, Delays: [2]time.Duration{8 * ms}}},
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
		{1, math.MaxInt32 * 1000, link.MaxDuration},
	} {
		q := link.Quality{Rate: c.rate}
		if got := q.Transmission(c.size); got != c.want {
			t.Errorf("%d bytes at %d: %v, want %v", c.size, c.rate, got, c.want)
		}
	}
}
