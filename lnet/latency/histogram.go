// Package latency has histograms of how long operations take.
//
// The bounds of the buckets are those of Prometheus's native histograms with schema 2: each bound
// is 2^¼ times the one before, so that a quantile is known to 19 %. They are the same in all
// histograms, from 2^-22 s (238 ns) to 2^10 s (17 minutes). Package latency reads no clock: the
// caller says how long an operation took.
//
//	h.Record(answered - began)                      // on the path of messages
//	fmt.Println(h.Snapshot().Quantile(0.99))        // elsewhere
package latency

import (
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// Schema is the schema of Prometheus's native histograms whose bounds the buckets have. A bucket
// with index i counts what took at most 2^(i/PerOctave) seconds, and more than the bound of the
// bucket with index i-1.
const (
	Schema    = 2
	PerOctave = 1 << Schema // number of buckets from a bound to its double

	First = -22 * PerOctave  // index of the first bucket, which also counts all that took less time
	Last  = 10*PerOctave + 1 // index of the last bucket, which counts all that took longer than 2^10 s
)

// Histogram counts operations by how long they took. The zero value is empty. Its methods are safe
// for concurrent use, take no lock and allocate nothing, except for the result of Snapshot. A
// Histogram has 1 KiB, and must not be copied.
type Histogram struct {
	sum    atomic.Int64 // sum of the times of all operations, in nanoseconds
	counts [Last - First + 1]atomic.Uint64
}

// bounds has the upper bound of each bucket but the last one.
var bounds = func() (b [Last - First]time.Duration) {
	for i := range b {
		b[i] = time.Duration(math.Floor(math.Exp2(float64(First+i)/PerOctave) * float64(time.Second)))
	}
	return b
}()

// Record counts an operation that took d. A negative d counts as 0.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	i, _ := slices.BinarySearch(bounds[:], d)
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

// Snapshot returns what was counted so far. Operations that are recorded meanwhile may be part of
// it, or of its sum alone.
func (h *Histogram) Snapshot() Snapshot {
	s := Snapshot{Buckets: []Bucket{}}
	for i := range h.counts {
		n := h.counts[i].Load()
		if n == 0 {
			continue
		}
		b := Bucket{Index: First + i, UpTo: math.MaxInt64, Count: n}
		if i < len(bounds) {
			b.UpTo = bounds[i]
		}
		s.Buckets = append(s.Buckets, b)
	}
	s.Sum = time.Duration(h.sum.Load())
	return s
}
