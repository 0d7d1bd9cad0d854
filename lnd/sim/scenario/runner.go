package scenario

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"ulnet/lnd/sim"
)

// runner has the state of one run.
type runner struct {
	file      *File
	options   Options
	setup     *Setup
	inst      Instance
	recording *recording // recording of the run; nil: none
	begun     time.Time

	instants instants
	checks   []checker
	// if not nil, the run ends as soon as this check is decided; nil: the run takes its whole time
	only     *checker
	series   []Series
	sampleAt time.Duration
	reportAt time.Duration
	paused   map[sim.NodeID]time.Duration // by node: when its pause is to end; only for pauses that have an end
}

// fits sets the options that are zero to what the file says, and refuses a run that is not
// possible.
func (f *File) fits(o *Options) error {
	o.Nodes = cmp.Or(o.Nodes, f.Nodes)
	o.Seed = cmp.Or(o.Seed, &f.Seed)
	o.Level = cmp.Or(o.Level, f.Protocol.Levels[0])
	if !slices.Contains(f.Protocol.Levels, o.Level) {
		return f.Protocol.refuse(o.Level)
	}
	if least := f.Protocol.leastNodes(); o.Nodes < least || o.Nodes > MaxNodes {
		return fmt.Errorf("%d nodes: protocol %s wants %d to %d", o.Nodes, f.Protocol.Name, least, MaxNodes)
	}
	return f.enough(o)
}

// newRunner prepares a run of f.
func newRunner(f *File, o Options) (*runner, error) {
	if err := f.fits(&o); err != nil {
		return nil, err
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
	r.record()
	if r.inst, err = f.Protocol.New(setup); err != nil {
		return nil, err
	}
	for i := range f.settings.links {
		r.apply(&f.settings.links[i].action, 0)
	}
	for i := range plan {
		r.inst.At(plan[i].at, func() { r.apply(&plan[i].action, plan[i].at) })
	}
	r.prepare(plan)
	return r, nil
}

// record begins the recording, if Options.Record is set.
func (r *runner) record() {
	if r.options.Record == nil {
		return
	}
	f := r.file
	inputs := f.Protocol.Replay != nil && r.setup.Level == Machines
	r.recording = newRecording(r.options.Record, &header{
		Name: f.Name, Text: string(f.Format()), Protocol: f.Protocol.Name,
		Nodes: r.setup.Nodes, Seed: r.setup.Seed, Level: r.setup.Level.String(), Inputs: inputs,
	})
	if inputs {
		r.setup.Record = r.recording
	}
}

// run runs to the end of the file's time.
func (r *runner) run(ctx context.Context) error {
	for at := range r.instants.all(r.file.Length) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.inst.Run(at); err != nil {
			return err
		}
		r.evaluate(at)
		r.sample(at)
		r.report(at)
		if r.only != nil && r.only.done {
			break
		}
	}
	return nil
}

// reports is how often a run reports its progress.
const reports = 100

// report reports progress and writes a checkpoint, after each hundredth of the run and at its end.
func (r *runner) report(now time.Duration) {
	if now < r.reportAt && now < r.file.Length {
		return
	}
	r.reportAt = now + r.file.Length/reports
	if r.recording != nil {
		r.recording.checkpoint(now, r.inst.Digest())
	}
	if r.options.Progress != nil {
		r.options.Progress(Progress{Virtual: now, Length: r.file.Length, Wall: time.Since(r.begun), Stats: r.inst.Stats()})
	}
}

// end ends the recording. If the run was stopped before its end, the recording gets no end chunk and
// goes as far as the run.
func (r *runner) end(whole bool) error {
	if r.recording == nil {
		return nil
	}
	if c, ok := r.inst.(io.Closer); ok {
		if err := c.Close(); err != nil {
			return err
		}
	}
	if !whole {
		r.recording.checkpoint(r.inst.Now(), r.inst.Digest())
	}
	return r.recording.end(whole)
}

// result returns the Result of the finished run.
func (r *runner) result() *Result {
	res := &Result{
		Seed: r.setup.Seed, Nodes: r.setup.Nodes, Level: r.setup.Level,
		Virtual: r.inst.Now(), Wall: time.Since(r.begun), Digest: r.inst.Digest(), Stats: r.inst.Stats(),
		Measures: r.inst.Measures(), Series: r.series,
	}
	for i := range r.checks {
		res.Expects = append(res.Expects, r.checks[i].outcome)
	}
	return res
}
