package scenario

import (
	"context"
	"time"

	"ulnet/lnd/sim"
)

// defaultCheckEvery is how often conditions are evaluated.
const defaultCheckEvery = 10 * time.Millisecond

// runner is one run.
type runner struct {
	file    *File
	options Options
	setup   *Setup
	inst    Instance
	control sim.Control
	begun   time.Time

	instants instants
	checks   []checker
	series   []Series
	sampleAt time.Duration
	paused   map[sim.NodeID]time.Duration // until when, of pauses with an end
}

// newRunner makes a run that can begin.
func newRunner(f *File, o Options) (*runner, error) {
	if o.Nodes == 0 {
		o.Nodes = f.Nodes
	}
	if o.Seed == nil {
		o.Seed = &f.Seed
	}
	if o.Level == 0 {
		o.Level = f.Protocol.Levels[0]
	}
	plan, errs := f.expand(o.Nodes, *o.Seed)
	if len(errs) > 0 {
		return nil, errs
	}
	setup, err := f.setup(o.Nodes, *o.Seed, o.Level)
	if err != nil {
		return nil, err
	}
	r := &runner{file: f, options: o, setup: setup, begun: time.Now(), paused: make(map[sim.NodeID]time.Duration)}
	if r.inst, err = f.Protocol.New(setup); err != nil {
		return nil, err
	}
	r.control = r.inst.Control()
	for i := range f.settings.links {
		r.apply(&f.settings.links[i], 0)
	}
	for i := range plan {
		r.control.At(plan[i].at, func() { r.apply(&plan[i].action, plan[i].at) })
	}
	r.prepare(plan)
	return r, nil
}

// run runs to the end of the file's time.
func (r *runner) run(ctx context.Context) error {
	for at := range r.instants.all(r.file.Length) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.control.Run(at); err != nil {
			return err
		}
		r.evaluate(at)
		r.sample(at)
	}
	return nil
}

// result returns what the run came to.
func (r *runner) result() *Result {
	res := &Result{
		Seed: r.setup.Seed, Nodes: r.setup.Nodes, Level: r.setup.Level,
		Virtual: r.control.Now(), Wall: time.Since(r.begun), Digest: r.control.Digest(), Stats: r.control.Stats(),
		Measures: r.inst.Measures(), Series: r.series,
	}
	for i := range r.checks {
		res.Expects = append(res.Expects, r.checks[i].outcome)
	}
	return res
}
