package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// step is one action at its instant, as a run takes it: nothing is random any
// more.
type step struct {
	at     time.Duration
	line   *line
	action action
}

// Bounds of what a file expands to.
const (
	maxSteps = 100_000
	maxVisit = 1 << 26 // nodes that the steps name, in sum
)

// expand returns what happens in a run of so many nodes from a seed, in order.
func (f *File) expand(nodes int, seed uint64) ([]step, Errors) {
	x := &expansion{file: f, nodes: nodes, seed: seed}
	x.ranges()
	if len(x.errors) == 0 {
		x.steps()
	}
	if len(x.errors) == 0 {
		x.draw()
	}
	return x.list, x.errors
}

// expansion is the work of expand.
type expansion struct {
	file   *File
	nodes  int
	seed   uint64
	list   []step
	errors Errors
}

func (x *expansion) fail(l *line, column int, format string, args ...any) {
	if len(x.errors) < maxErrors {
		x.errors = append(x.errors, &Error{x.file.Name, l.number, max(column, 1), fmt.Sprintf(format, args...)})
	}
}

// ranges checks that the sets name nodes that there are.
func (x *expansion) ranges() {
	for i := range x.file.lines {
		l := &x.file.lines[i]
		if l.fault == nil || l.fault.when == whenRandom {
			continue
		}
		a := &l.fault.do
		for _, s := range append([]Set{a.nodes, a.to}, a.sets...) {
			x.inRange(l, s)
		}
	}
}

func (x *expansion) inRange(l *line, s Set) {
	if s.Of.String() != "all" && s.Of.Len(MaxNodes) != s.Of.Len(x.nodes) {
		x.fail(l, s.column, "%v: nodes are numbered 1 to %d", s.Of, x.nodes)
	}
}

// steps lists the steps in order, with sets that are still to be drawn.
func (x *expansion) steps() {
	for i := range x.file.lines {
		l := &x.file.lines[i]
		switch f := l.fault; {
		case f == nil:
		case f.when == whenAt:
			x.list = append(x.list, step{f.at, l, f.do})
		case f.when == whenEvery:
			for at := f.from; at <= f.end(x.file.Length); at += f.every {
				if len(x.list) == maxSteps {
					x.fail(l, 1, "more than %d steps in all: want a longer time between them", maxSteps)
					return
				}
				x.list = append(x.list, step{at, l, f.do})
			}
		}
	}
	slices.SortStableFunc(x.list, func(a, b step) int { return cmp.Compare(a.at, b.at) })
}

// draw draws what is random, and finds contradictions.
func (x *expansion) draw() {}
