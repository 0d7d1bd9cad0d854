package cputime

import (
	"os"
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

// TestOfProcess: the CPU time of a process grows by that of its goroutines.
func TestOfProcess(t *testing.T) {
	before, err := OfProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	own := Of(func() { _ = compute() })
	after, err := OfProcess(os.Getpid())
	if err != nil || after-before < own {
		t.Errorf("%v before, %v after a goroutine took %v: %v", before, after, own, err)
	}
	if _, err := OfProcess(1<<22 + 1); err == nil { // above the highest PID of Linux
		t.Error("the CPU time of no process")
	}
}
