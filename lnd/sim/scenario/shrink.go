package scenario

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"ulnet/lnd/sim"
)

// ErrPasses is returned by [Shrink] for a run in which nothing fails.
var ErrPasses = errors.New("nothing fails in this run: there is nothing to shrink")

// Shrinking says how far a Shrink has come.
type Shrinking struct {
	Runs   int // runs made so far
	Faults int // faults in the smallest plan that fails
}

// Shrink looks for a small plan of faults with which the run of a file fails the same expect
// (delta debugging): it expands the file, removes faults, and makes the remaining ones simpler.
// It removes commands too, but only as long as the run without any fault passes. So the faults
// remain the cause of the failure. The returned file is complete.
func Shrink(ctx context.Context, f *File, o Options, progress func(Shrinking)) (*File, error) {
	o.SampleEvery, o.Record, o.Progress = -1, nil, nil
	if err := f.fits(&o); err != nil {
		return nil, err
	}
	plain, err := f.Expand(o.Nodes, *o.Seed)
	if err != nil {
		return nil, err
	}
	s := &shrinker{ctx: ctx, plain: plain, options: o, progress: progress}
	for _, l := range plain.faults() {
		if l.fault.do.verb == "do" {
			s.commands = append(s.commands, l.fault)
		} else {
			s.faults = append(s.faults, l.fault)
		}
	}
	if err := s.shrink(); err != nil {
		return nil, err
	}
	return s.file(s.faults, s.commands), nil
}

// shrinker has the state of a Shrink.
type shrinker struct {
	ctx      context.Context
	plain    *File
	options  Options
	progress func(Shrinking)
	runs     int

	faults   []*fault // faults of the smallest file that fails so far
	commands []*fault
	check    int // index of the check that fails; -1: the run fails because a machine breaks its contract
}

func (s *shrinker) shrink() error {
	if err := s.find(); err != nil {
		return err
	}
	for {
		before := s.cost()
		if err := s.leaveOut(); err != nil {
			return err
		}
		if err := s.simplify(); err != nil {
			return err
		}
		if s.cost() >= before {
			return nil
		}
	}
}

// find runs the whole file to find the first check that fails.
func (s *shrinker) find() error {
	res, err := Run(s.ctx, s.plain, s.options)
	s.runs++
	var broken *sim.ContractError
	switch {
	case errors.As(err, &broken):
		s.check = -1
		return nil
	case err != nil:
		return err
	}
	s.check = slices.IndexFunc(res.Expects, func(o Outcome) bool { return !o.OK })
	if s.check < 0 {
		return ErrPasses
	}
	return nil
}

// leaveOut tries to leave out faults, then commands.
func (s *shrinker) leaveOut() (err error) {
	s.faults, err = ddmin(s.faults, func(list []*fault) (bool, error) { return s.fails(list, s.commands) })
	if err != nil || len(s.faults) == 0 && s.check >= 0 {
		return err
	}
	s.commands, err = ddmin(s.commands, func(list []*fault) (bool, error) {
		if s.check >= 0 {
			alone, err := s.fails(nil, list)
			if err != nil || alone {
				return false, err
			}
		}
		return s.fails(s.faults, list)
	})
	return err
}

// file returns the file with only these faults and commands, in order of time.
func (s *shrinker) file(faults, commands []*fault) *File {
	var all []line
	for _, one := range slices.Concat(faults, commands) {
		all = append(all, line{fault: one})
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(a.fault.at, b.fault.at) })
	return s.plain.with(all)
}

// consistent returns the file with these faults and commands, but without faults that contradict
// the rest: if a kill was left out, for instance, the restart of the node is omitted, too.
func (s *shrinker) consistent(faults, commands []*fault) (*File, []*fault) {
	for {
		f := s.file(faults, commands)
		_, errs := f.expand(f.Nodes, f.Seed)
		if len(errs) == 0 {
			return f, faults
		}
		var bad []*fault
		for _, l := range f.faults() {
			if slices.ContainsFunc(errs, func(e *Error) bool { return e.Line == l.number }) {
				bad = append(bad, l.fault)
			}
		}
		keep := func(list []*fault) []*fault {
			return slices.DeleteFunc(slices.Clone(list), func(one *fault) bool { return slices.Contains(bad, one) })
		}
		faults, commands = keep(faults), keep(commands)
		if len(bad) == 0 {
			return nil, nil
		}
	}
}

// fails runs the file with only these faults and commands, and reports whether it fails in the same
// way as the whole file.
func (s *shrinker) fails(faults, commands []*fault) (bool, error) {
	f, _ := s.consistent(faults, commands)
	if f == nil {
		return false, nil
	}
	s.runs++
	if s.progress != nil {
		s.progress(Shrinking{s.runs, len(s.faults)})
	}
	r, err := newRunner(f, s.options)
	if err != nil {
		// the run has another error, such as too few nodes to draw from: it does not count as the same
		// failure
		return false, nil
	}
	if s.check >= 0 {
		r.only = &r.checks[s.check]
	}
	err = r.run(s.ctx)
	var broken *sim.ContractError
	switch {
	case errors.As(err, &broken):
		return s.check < 0, nil
	case err != nil:
		return false, err
	}
	return s.check >= 0 && !r.checks[s.check].outcome.OK, nil
}
