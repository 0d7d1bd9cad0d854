package engine

import (
	"math/bits"
	"time"
)

// Latency is one bucket of a histogram: how many RPCs of a node as client took a time in this bucket.
type Latency struct {
	UpTo time.Duration `json:"up_to_ns"` // longest time of the bucket; the shortest one is at most 1/32 below it
	RPCs uint64        `json:"rpcs"`     // number of RPCs with a time in this bucket, since the node's start
}

// histogram counts times in 32 buckets for each power of two nanoseconds (log-linear, as HDR
// Histogram does): 1 s is in a bucket of 17 ms. Times of 2^40 ns and more are in the last one.
type histogram [steps * (mostBits - stepBits + 1)]uint64

const (
	stepBits = 5
	steps    = 1 << stepBits
	mostBits = 40
)

// add counts a time.
func (h *histogram) add(d time.Duration) {
	n := uint64(min(max(d, 0), 1<<mostBits-1))
	shift := max(bits.Len64(n)-stepBits-1, 0)
	h[shift*steps+int(n>>shift)]++
}

// limit returns the longest time of a bucket.
func limit(i int) time.Duration {
	if i < 2*steps {
		return time.Duration(i)
	}
	shift := i/steps - 1
	return time.Duration((i-shift*steps+1)<<shift - 1)
}

// Latencies returns the buckets that are not empty, in the order of their times. RPCs that failed
// are in none.
func (n *Node) Latencies() (list []Latency) {
	for i, rpcs := range n.latencies {
		if rpcs > 0 {
			list = append(list, Latency{limit(i), rpcs})
		}
	}
	return list
}
