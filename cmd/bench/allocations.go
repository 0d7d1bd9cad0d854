package main

import (
	"context"
	"fmt"
	"time"
)

// allocationOps is how many operations G-LN-5 divides by. What the runtime
// allocates by itself meanwhile vanishes in it.
const allocationOps = 2000

// measureAllocations is G-LN-5.
func measureAllocations(ctx context.Context, b *bench) (lines []line, err error) {
	return b.countAllocations(ctx, b.node)
}

// countAllocations counts heap objects of both processes for a PUT that is answered
// by a PUT, and for a GET, of 1 MiB each.
func (b *bench) countAllocations(ctx context.Context, i *initiator) (lines []line, err error) {
	nothing := func() (time.Duration, error) { return 0, nil }
	if _, _, err := b.spent(nothing); err != nil { // buffers grow once
		return nil, err
	}
	_, asking, err := b.spent(nothing) // what it takes to ask is left out
	if err != nil {
		return nil, err
	}
	last := len(sizes) - 1
	for _, op := range []struct {
		what string
		puts float64 // in one operation
		run  func() (time.Duration, error)
	}{
		{"allocations per PUT of 8 B, both sides", 2, func() (time.Duration, error) {
			return i.pingHandlers(ctx, 0, allocationOps)
		}},
		{"allocations per PUT of 1 MiB, both sides", 2, func() (time.Duration, error) {
			return i.pingHandlers(ctx, last, allocationOps/10)
		}},
		{"allocations per GET of 1 MiB, both sides", 1, func() (time.Duration, error) {
			return i.getStream(ctx, allocationOps/10, 1)
		}},
	} {
		if _, err := op.run(); err != nil { // fills the pools
			return nil, err
		}
		elapsed, used, err := b.spent(op.run)
		if err != nil {
			return nil, err
		}
		objects := used.Mallocs - min(used.Mallocs, asking.Mallocs)
		ops := op.puts * allocationOps
		if op.what != "allocations per PUT of 8 B, both sides" {
			ops /= 10
		}
		lines = append(lines, line{
			what: op.what, ratio: float64(objects) / ops, unit: "objects", limit: 0.05,
			basis: fmt.Sprintf("%d objects in %v", objects, elapsed.Round(time.Millisecond)),
		})
	}
	return lines, nil
}
