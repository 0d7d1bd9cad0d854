package latency

import (
	"math"
	"time"
)

// Snapshot is a copy of a Histogram, and belongs to the caller. The zero value is a copy of an empty
// Histogram.
type Snapshot struct {
	Sum     time.Duration `json:"sum_ns"`  // how long all operations together took, in nanoseconds
	Buckets []Bucket      `json:"buckets"` // buckets that are not empty, the shortest times first
}

// Bucket counts the operations of a range of times.
type Bucket struct {
	Index int           `json:"-"`        // from First to Last, see Schema
	UpTo  time.Duration `json:"up_to_ns"` // upper bound in nanoseconds, which belongs to the range; the largest Duration: there is no bound
	Count uint64        `json:"count"`    // number of operations
}

// Count returns the number of operations.
func (s *Snapshot) Count() (n uint64) {
	for i := range s.Buckets {
		n += s.Buckets[i].Count
	}
	return n
}

// Quantile returns the time within which the fraction q of all operations ended, 0 ≤ q ≤ 1: with 0.99,
// 99 of 100. The result is the upper bound of a bucket. It exceeds the exact time by 19 % at most,
// unless that is outside the bounds of this package. It is 0 if there are no operations.
func (s *Snapshot) Quantile(q float64) time.Duration {
	rank := max(uint64(math.Ceil(q*float64(s.Count()))), 1)
	for i := range s.Buckets {
		if b := &s.Buckets[i]; b.Count >= rank {
			return b.UpTo
		}
		rank -= s.Buckets[i].Count
	}
	if n := len(s.Buckets); n > 0 {
		return s.Buckets[n-1].UpTo
	}
	return 0
}
