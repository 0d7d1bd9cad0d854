package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"ulnet/lnd/sim/scenario"
)

// runMany runs a scenario with consecutive seeds from *o.Seed on, several at the same time, and
// returns the results in the order of the seeds. An error of one run ends all runs.
func runMany(ctx context.Context, f *scenario.File, o scenario.Options, runs, parallel int, b *bar) ([]*scenario.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results, errs := make([]*scenario.Result, runs), make([]error, runs)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(parallel, runs) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < runs && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				one, seed := o, *o.Seed+uint64(i)
				one.Seed, one.Progress = &seed, b.of(i)
				if results[i], errs[i] = scenario.Run(ctx, f, one); errs[i] != nil {
					cancel()
				}
			}
		})
	}
	wg.Wait()
	b.end()
	return results, firstError(errs, ctx.Err())
}

// firstError returns the first error that was not caused by stopping the runs after another
// error. If there is none, it returns stopped.
func firstError(errs []error, stopped error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return stopped
}
