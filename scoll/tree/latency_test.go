package tree

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestLatency: latencies that an independent program has computed, with an overhead of 1
// (G-SC-1). That program sends to children in the order of ranks. Sending to the deepest child
// first, as this package does, saves one unit for n = 1000 and l/o = 4 and 8.
func TestLatency(t *testing.T) {
	spec.Covers(t, "G-SC-1")
	tests := []struct {
		n                          int
		latency, optimum, binomial time.Duration
		k                          KNomial // the best k-nomial tree, if the binomial one is not the best
		best                       time.Duration
	}{
		{64, 1, 6, 6, 0, 0},
		{64, 2, 10, 12, 0, 0},
		{64, 4, 15, 24, 4, 18},
		{64, 8, 24, 48, 8, 28},
		{64, 16, 40, 96, 8, 44},
		{1000, 1, 10, 10, 0, 0},
		{1000, 2, 16, 19, 0, 0},
		{1000, 4, 24, 37, 4, 29},
		{1000, 8, 38, 73, 6, 46},
		{1000, 16, 61, 145, 10, 72},
		{1, 5, 0, 0, 0, 0},
		{2, 5, 5, 5, 2, 5},
	}
	for _, tt := range tests {
		if got := Optimum(tt.n, tt.latency, 1); got != tt.optimum {
			t.Errorf("n %d, l/o %d: optimum %d, want %d", tt.n, tt.latency, got, tt.optimum)
		}
		if got := Latency(KNomial(2), tt.n, tt.latency, 1); got != tt.binomial {
			t.Errorf("n %d, l/o %d: binomial %d, want %d", tt.n, tt.latency, got, tt.binomial)
		}
		if tt.k == 0 {
			continue
		}
		if got := Latency(tt.k, tt.n, tt.latency, 1); got != tt.best {
			t.Errorf("n %d, l/o %d: %v %d, want %d", tt.n, tt.latency, tt.k, got, tt.best)
		}
		k := Recommend(tt.n, tt.latency, 1)
		if got := Latency(k, tt.n, tt.latency, 1); got != tt.best {
			t.Errorf("n %d, l/o %d: recommended %v takes %d, want %d", tt.n, tt.latency, k, got, tt.best)
		}
	}
}

// TestLatencyOfTrees: the latency computed from sizes alone is that of a walk over the whole
// tree.
func TestLatencyOfTrees(t *testing.T) {
	const latency, overhead = 7, 3
	for _, topology := range []Topology{KNomial(2), KNomial(3), KNomial(5), KAry(1), KAry(2), KAry(4), KAry(MaxK), chain{}} {
		for n := 1; n <= 150; n++ {
			tree, last := Tree{topology, n, 0}, time.Duration(0)
			at := make([]time.Duration, n)
			for _, rank := range tree.AppendSubtree(nil, 0) {
				last = max(last, at[rank])
				for i, c := range tree.AppendChildren(nil, rank) {
					at[c.Rank] = at[rank] + time.Duration(i)*overhead + latency
				}
			}
			if got := Latency(topology, n, latency, overhead); got != last {
				t.Fatalf("%v of %d: %d, want %d", topology, n, got, last)
			}
		}
	}
}

// TestRecommend: G-SC-1: the latency of the recommended tree is at most 1.28 times the optimum;
// if sends take no time the tree is flat.
func TestRecommend(t *testing.T) {
	spec.Covers(t, "G-SC-1")
	step := 5
	if testing.Short() {
		step = 50
	}
	for n := 12; n <= 1024; n += step {
		for latency := time.Duration(1); latency <= 16; latency++ {
			k := Recommend(n, latency, 1)
			if got, best := Latency(k, n, latency, 1), Optimum(n, latency, 1); float64(got) > 1.28*float64(best) {
				t.Fatalf("n %d, l/o %d: %v takes %d, the optimum %d", n, latency, k, got, best)
			}
		}
	}
	if k := Recommend(200, time.Millisecond, 0); Latency(k, 200, time.Millisecond, 0) != time.Millisecond {
		t.Errorf("sends for nothing: %v", k)
	}
}
