package main

import (
	"fmt"
	"time"
)

// allocationOps is the number of operations that goal G-LN-5 averages over. They are so many
// that allocations of the runtime itself are negligible.
const allocationOps = 2000

// measureAllocations measures goal G-LN-5: the heap objects that both processes allocate for each
// PUT and each GET.
func measureAllocations(b *measurement) {
	b.countAllocations(b.node)
}

// countAllocations counts the heap objects that both processes allocate for a PUT of 1 MiB that
// is answered by another PUT, and for a GET of 1 MiB.
func (b *measurement) countAllocations(i *initiator) {
	nothing := func() (time.Duration, error) { return 0, nil }
	must2(b.spent(nothing))              // the first request for the counters makes buffers grow, so it is not counted
	_, asking := must2(b.spent(nothing)) // what such a request itself allocates, which is subtracted below
	last := len(sizes) - 1
	for _, op := range []struct {
		what string
		puts float64 // allocations per operation
		run  func() (time.Duration, error)
	}{
		{"allocations per PUT of 8 B, both sides", 2, func() (time.Duration, error) {
			return i.pingPong(b.ctx, bitsHandler, allocationOps)
		}},
		{"allocations per PUT of 1 MiB, both sides", 2, func() (time.Duration, error) {
			return i.pingPong(b.ctx, bitsHandler+uint64(last), allocationOps/10)
		}},
		{"allocations per GET of 1 MiB, both sides", 1, func() (time.Duration, error) {
			return i.getStream(b.ctx, allocationOps/10, 1)
		}},
	} {
		must(op.run()) // the first run fills the pools of buffers
		elapsed, used := must2(b.spent(op.run))
		objects := used.Mallocs - min(used.Mallocs, asking.Mallocs)
		ops := op.puts * allocationOps
		if op.what != "allocations per PUT of 8 B, both sides" {
			ops /= 10
		}
		b.add(line{
			what: op.what, ratio: float64(objects) / ops, unit: "objects", limit: 0.05,
			basis: fmt.Sprintf("%d objects in %v", objects, elapsed.Round(time.Millisecond)),
		})
	}
}
