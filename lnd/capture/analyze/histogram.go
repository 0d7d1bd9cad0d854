package analyze

import (
	"math"
	"math/bits"
	"time"
)

// histogram counts durations in buckets whose width is 1/32 of their lower bound, as HDR histograms
// do. Its size does not depend on the number of durations, nor on how long they are.
type histogram struct {
	buckets  []uint32 // made when the first duration is counted; nil before
	n        uint64
	sum      float64
	min, max time.Duration
}

const (
	perOctave = 32
	octaves   = 36                        // so that the buckets reach up to 2^42 ns, more than an hour
	buckets   = (octaves + 2) * perOctave // the first two octaves have buckets of 1 ns
	longest   = 1<<(octaves+6) - 1        // a longer duration is counted in the bucket of this one; only the maximum is exact
)

// bucketOf returns the index of the bucket in which a duration is counted.
func bucketOf(d time.Duration) int {
	v := uint64(min(d, longest))
	shift := max(0, bits.Len64(v)-6)
	return shift*perOctave + int(v>>shift)
}

// upper returns the longest duration that is counted in a bucket.
func upper(bucket int) time.Duration {
	shift := max(0, bucket/perOctave-1)
	return time.Duration(bucket-shift*perOctave+1)<<shift - 1
}

// add counts a duration, which must not be negative.
func (h *histogram) add(d time.Duration) {
	if h.n == 0 {
		h.buckets, h.min = make([]uint32, buckets), d
	}
	h.n++
	h.sum += float64(d)
	h.min, h.max = min(h.min, d), max(h.max, d)
	if b := &h.buckets[bucketOf(d)]; *b < 1<<32-1 {
		*b++
	}
}

// percentile returns a duration that the given share of all durations does not exceed.
func (h *histogram) percentile(share float64) time.Duration {
	rank := uint64(max(1, math.Ceil(share*float64(h.n)-1e-9)))
	for i, n := range h.buckets {
		if uint64(n) >= rank {
			return max(h.min, min(h.max, upper(i)))
		}
		rank -= uint64(n)
	}
	return h.max
}

func (h *histogram) summary() Latency {
	if h.n == 0 {
		return Latency{}
	}
	return Latency{
		Min: h.min, Mean: time.Duration(h.sum / float64(h.n)), Max: h.max,
		P50: h.percentile(0.5), P90: h.percentile(0.9), P99: h.percentile(0.99), P999: h.percentile(0.999),
	}
}
