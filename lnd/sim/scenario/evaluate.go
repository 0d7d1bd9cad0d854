package scenario

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// defaultCheckEvery is the default interval between evaluations of conditions.
const defaultCheckEvery = 10 * time.Millisecond

// checker evaluates one check during a run.
type checker struct {
	check   *check
	outcome Outcome
	done    bool
}

// instants are the times at which a run stops to evaluate checks and to sample: the multiples of a
// few intervals, and some single instants.
type instants struct {
	every []time.Duration
	more  []time.Duration // further instants, in order
}

// all yields the instants in order, each once; the last one is end.
func (x *instants) all(end time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		more := x.more
		for now := time.Duration(0); ; {
			next := end
			for _, e := range x.every {
				next = min(next, now-now%e+e)
			}
			for len(more) > 0 && more[0] <= now {
				more = more[1:]
			}
			if len(more) > 0 {
				next = min(next, more[0])
			}
			if !yield(next) || next >= end {
				return
			}
			now = next
		}
	}
}

// prepare sets up the checkers and samples, and the instants at which the run stops for them.
func (r *runner) prepare(plan []step) {
	f := r.file
	for _, l := range f.checks() {
		r.checks = append(r.checks, checker{check: l.check, outcome: Outcome{Line: l.number, Text: l.check.String(), From: l.check.from, At: l.check.to}})
		r.instants.more = append(r.instants.more, l.check.from, l.check.to)
	}
	for i := range plan {
		r.instants.more = append(r.instants.more, plan[i].at)
	}
	slices.Sort(r.instants.more)
	report := max(f.Length/reports, time.Microsecond)
	if r.instants.every = append(r.instants.every, report); len(r.checks) > 0 {
		r.instants.every = append(r.instants.every, f.checkEvery())
	}
	if every := r.options.SampleEvery; every >= 0 {
		every = cmp.Or(every, max(f.Length/100, time.Microsecond))
		r.options.SampleEvery, r.sampleAt = every, every
		r.instants.every = append(r.instants.every, every)
		for _, q := range f.Protocol.Series {
			r.series = append(r.series, Series{Quantity: q})
		}
	}
}

func (f *File) checkEvery() time.Duration {
	return cmp.Or(f.settings.checkEvery, f.Protocol.CheckEvery, defaultCheckEvery)
}

// evaluate evaluates the checks whose span of time contains the instant now.
func (r *runner) evaluate(now time.Duration) {
	for i := range r.checks {
		c := &r.checks[i]
		if c.done || now < c.check.from || now > c.check.to {
			continue
		}
		holds, why := c.check.claim.holds(r.file.Protocol, r.inst)
		c.decide(now, holds, why)
	}
}

// decide records whether the condition of the check held at an instant, and ends the check if that
// decides it.
func (c *checker) decide(now time.Duration, holds bool, why string) {
	o := &c.outcome
	last := now >= c.check.to
	switch c.check.word {
	case "expect":
		o.OK, c.done = holds, holds || last
	case "always":
		o.OK, c.done = holds && last, !holds || last
	case "never":
		o.OK, c.done = !holds && last, holds || last
		if holds {
			why = "it holds"
		}
	}
	if c.done {
		o.At = now
		if !o.OK {
			o.Why = why
		}
	}
}

// sample adds a sample of each series.
func (r *runner) sample(now time.Duration) {
	if len(r.series) == 0 || now < r.sampleAt {
		return
	}
	r.sampleAt = now - now%r.options.SampleEvery + r.options.SampleEvery
	for i, v := range r.inst.Sample() {
		r.series[i].At = append(r.series[i].At, now)
		r.series[i].Value = append(r.series[i].Value, v)
	}
}
