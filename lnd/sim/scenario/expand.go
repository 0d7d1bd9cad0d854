package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Bounds of the steps that a file expands to.
const (
	maxSteps  = 100_000
	maxVisits = 1 << 25 // most visits in one expansion, see expansion.visits
	// stepVisits is what each step adds to the count of visits, besides one for each of its nodes,
	// whenever resolve goes through all steps.
	stepVisits = 32
)

// expand returns what happens, in order, in a run with the given number of nodes and seed.
func (f *File) expand(nodes int, seed uint64) ([]step, Errors) {
	x := &expansion{file: f, nodes: nodes, seed: seed}
	x.ranges()
	if len(x.errors) == 0 {
		x.fixed()
	}
	if len(x.errors) == 0 {
		_, x.errors = x.resolve(x.list)
	}
	if len(x.errors) == 0 {
		x.random()
	}
	if x.errors.sort(); len(x.errors) > 0 {
		return nil, x.errors
	}
	return x.resolve(x.list)
}

// expansion is the state of the function expand.
type expansion struct {
	file  *File
	nodes int
	seed  uint64
	list  []step // steps in order of time
	// work done so far, to bound the time that an expansion takes: 1 for each node that was looked
	// at, and stepVisits for each step. maxVisits is the bound.
	visits int
	errors Errors
}

// step is one action at its instant, as a run takes it.
type step struct {
	at     time.Duration
	line   *line
	draw   uint64 // number that seeds the random choice of the step's nodes
	action action
}

func (x *expansion) fail(l *line, column int, format string, args ...any) {
	if len(x.errors) < maxErrors {
		x.errors = append(x.errors, &Error{x.file.Name, l.number, max(column, 1), fmt.Sprintf(format, args...)})
	}
}

// ranges checks that all nodes which the sets name exist.
func (x *expansion) ranges() {
	for _, b := range x.file.settings.bootAt {
		x.inRange(b.line, b.set)
	}
	for _, a := range x.file.settings.links {
		x.actionInRange(a.line, &a.action)
	}
	for i := range x.file.lines {
		switch l := &x.file.lines[i]; {
		case l.fault != nil && l.fault.when != whenRandom:
			x.actionInRange(l.number, &l.fault.do)
		case l.check != nil:
			for _, s := range l.check.claim.named {
				x.inRange(l.number, s)
			}
		}
	}
}

func (x *expansion) actionInRange(number int, a *action) {
	for _, s := range slices.Concat([]set{a.nodes, a.to}, a.sets, a.named) {
		x.inRange(number, s)
	}
}

func (x *expansion) inRange(number int, s set) {
	switch {
	case s.Of.String() == "all":
	case s.Of.Len(MaxNodes) != s.Of.Len(x.nodes):
		x.fail(&line{number: number}, s.column, "%v: nodes are numbered 1 to %d", s.Of, x.nodes)
	}
}

// fixed lists the steps that the file names, in order. Their sets are still to
// be drawn.
func (x *expansion) fixed() {
	index := uint64(0)
	for i := range x.file.lines {
		l := &x.file.lines[i]
		if l.fault == nil {
			continue
		}
		index++
		x.occurrences(l, index<<32)
	}
	x.sort()
}

// occurrences appends the steps of one line: one for each time at which its fault occurs.
func (x *expansion) occurrences(l *line, draw uint64) {
	f := l.fault
	if f.when == whenAt {
		x.list = append(x.list, step{f.at, l, draw, f.do})
	}
	for at := f.from; f.when == whenEvery && at <= f.end(x.file.Length); at += f.every {
		if len(x.list) == maxSteps {
			x.fail(l, 1, "the file has more than %d steps: want a longer time between them", maxSteps)
			return
		}
		x.list = append(x.list, step{at, l, draw, f.do})
		draw++
	}
}

func (x *expansion) sort() {
	slices.SortStableFunc(x.list, func(a, b step) int { return cmp.Compare(a.at, b.at) })
}
