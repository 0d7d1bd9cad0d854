package latency_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/latency"
)

// TestBuckets: a time is counted in the bucket whose range has it, also at the bounds and outside
// of them.
func TestBuckets(t *testing.T) {
	for d, want := range map[time.Duration]latency.Bucket{
		math.MinInt64:            {Index: latency.First, UpTo: 238},
		-1:                       {Index: latency.First, UpTo: 238},
		0:                        {Index: latency.First, UpTo: 238},
		238:                      {Index: latency.First, UpTo: 238}, // 2^-22 s is 238.4 ns
		239:                      {Index: latency.First + 1, UpTo: 283},
		500 * time.Millisecond:   {Index: -4, UpTo: 500 * time.Millisecond},
		500*time.Millisecond + 1: {Index: -3, UpTo: 594_603_557}, // 2^(-3/4) s
		time.Second:              {Index: 0, UpTo: time.Second},
		time.Second + 1:          {Index: 1, UpTo: 1_189_207_115}, // 2^(1/4) s
		2 * time.Second:          {Index: 4, UpTo: 2 * time.Second},
		1024 * time.Second:       {Index: 40, UpTo: 1024 * time.Second},
		1024*time.Second + 1:     {Index: latency.Last, UpTo: math.MaxInt64},
		math.MaxInt64:            {Index: latency.Last, UpTo: math.MaxInt64},
	} {
		var h latency.Histogram
		h.Record(d)
		want.Count = 1
		if diff := cmp.Diff(latency.Snapshot{Sum: max(d, 0), Buckets: []latency.Bucket{want}}, h.Snapshot()); diff != "" {
			t.Errorf("%d ns (-want +got):\n%s", d, diff)
		}
	}
}

// TestQuantile: a quantile is not below the exact time, and exceeds it by 19 % at most.
func TestQuantile(t *testing.T) {
	var h latency.Histogram
	empty := h.Snapshot()
	if empty.Count() != 0 || empty.Quantile(0.5) != 0 || len(empty.Buckets) != 0 {
		t.Errorf("empty: %+v", empty)
	}
	for i := range 1000 {
		h.Record(time.Duration(i+1) * time.Millisecond)
	}
	s := h.Snapshot()
	if s.Count() != 1000 || s.Sum != 500_500*time.Millisecond {
		t.Errorf("count %d, sum %v", s.Count(), s.Sum)
	}
	for q, exact := range map[float64]time.Duration{
		0: time.Millisecond, 0.001: time.Millisecond, 0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond, 1: time.Second,
	} {
		if got := s.Quantile(q); got < exact || float64(got) > 1.19*float64(exact) {
			t.Errorf("quantile %v: %v, exactly %v", q, got, exact)
		}
	}
	if got := s.Quantile(2); got != s.Quantile(1) {
		t.Errorf("quantile 2: %v", got)
	}
}

// TestConcurrentRecords: no operation is lost.
func TestConcurrentRecords(t *testing.T) {
	var h latency.Histogram
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 1000 {
				h.Record(time.Duration(i) * time.Microsecond)
				if i%100 == 0 {
					h.Snapshot()
				}
			}
		})
	}
	all.Wait()
	if s := h.Snapshot(); s.Count() != 4000 || s.Sum != 4*499_500*time.Microsecond {
		t.Errorf("count %d, sum %v", s.Count(), s.Sum)
	}
	if n := testing.AllocsPerRun(100, func() { h.Record(time.Millisecond) }); n != 0 {
		t.Errorf("%v allocations for each operation", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	var h latency.Histogram
	b.ReportAllocs()
	for b.Loop() {
		h.Record(20 * time.Microsecond)
	}
}
