package main

import (
	"runtime"
	"sync"
)

// bySeed runs a simulation with each of the given number of seeds, which begin with 0. It runs
// some of them in parallel, and returns the results in the order of the seeds. The first error
// ends the measurement.
func bySeed[T any](b *measurement, seeds int, f func(seed uint64) (T, error)) []T {
	results, errs := make([]T, seeds), make([]error, seeds)
	slots := make(chan struct{}, min(runtime.GOMAXPROCS(0), 4)) // few, because a large simulation takes half a GiB
	var wg sync.WaitGroup
	for seed := range seeds {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			results[seed], errs[seed] = f(uint64(seed))
		})
	}
	wg.Wait()
	for _, err := range errs {
		b.check(err)
	}
	return results
}
