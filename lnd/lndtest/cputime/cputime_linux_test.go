package cputime

import (
	"testing"
	"time"
)

// compute keeps a CPU busy for some milliseconds.
func compute() (n uint64) {
	for range 20_000_000 {
		n = n*6364136223846793005 + 1442695040888963407
	}
	return n
}

// TestOf: computing takes CPU time, and waiting for another thread that computes takes none.
func TestOf(t *testing.T) {
	busy := make(chan time.Duration, 1)
	var other time.Duration
	var computed uint64
	own := Of(func() {
		go func() { busy <- Of(func() { computed = compute() }) }()
		other = <-busy
	})
	if computed == 0 || other < time.Millisecond || own > other/2 {
		t.Errorf("a goroutine computed for %v, and %v passed for the one that waited", other, own)
	}
}
