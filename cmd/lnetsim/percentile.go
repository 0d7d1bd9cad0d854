package main

import (
	"math"
	"slices"
)

// spread is the distribution of a value over several runs. Percentiles are by nearest
// rank: each is the value of one run.
type spread struct {
	Min float64 `json:"min"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// spreadOf returns the spread of at least one value.
func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	rank := func(share float64) float64 { return v[int(math.Ceil(share*float64(len(v))))-1] }
	return spread{v[0], rank(0.50), rank(0.90), rank(0.99), v[len(v)-1]}
}
