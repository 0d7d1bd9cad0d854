package scenario

import (
	"context"

	"ulnet/lnd/sim"
)

// verify makes the run and a second one of the same seed, step by step in turn.
// The first step in which they differ is a [*sim.DivergenceError].
func (r *runner) verify(ctx context.Context) error {
	o := r.options
	o.Record, o.Progress = nil, nil
	twin, err := newRunner(r.file, o)
	if err != nil {
		return err
	}
	return sim.Verify(r.inst, twin.inst, func(c sim.Control) error {
		if c == r.inst {
			return r.run(ctx)
		}
		return twin.run(ctx)
	})
}
