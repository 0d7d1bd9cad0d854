package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// Expand returns the file with the random choices that a run with these nodes and this seed makes:
// each fault becomes an "at" line that names its nodes. A run of the result has the same
// digest.
func (f *File) Expand(nodes int, seed uint64) (*File, error) {
	steps, errs := f.expand(nodes, seed)
	if len(errs) > 0 {
		return nil, errs
	}
	p := *f
	p.Nodes, p.Seed = nodes, seed
	var lines []line
	for i := range steps {
		s := &steps[i]
		l := line{fault: &fault{at: s.at, do: s.action}}
		if s.line.fault.when == whenAt {
			l.comment = s.line.comment
		}
		lines = append(lines, l)
	}
	return p.with(lines), nil
}

// head returns the lines before the first fault or check. In them, the settings nodes and seed have
// the values of f.Nodes and f.Seed.
func (f *File) head() []line {
	var head []line
	seeded, nodes := false, 0
	for _, l := range f.lines {
		if l.fault != nil || l.check != nil {
			break
		}
		switch word, _, _ := strings.Cut(l.setting, " "); word {
		case "nodes":
			l.setting, nodes = fmt.Sprintf("nodes %d", f.Nodes), len(head)
		case "seed":
			l.setting, seeded = fmt.Sprintf("seed %d", f.Seed), true
		}
		head = append(head, l)
	}
	if !seeded {
		head = slices.Insert(head, nodes+1, line{setting: fmt.Sprintf("seed %d", f.Seed)})
	}
	return head
}

// tail returns the lines behind the head without the faults: checks and comments. A check whose
// times count from the last fault before it gets absolute times instead.
func (f *File) tail() []line {
	var tail []line
	begun := false
	for _, l := range f.lines {
		if begun = begun || l.fault != nil || l.check != nil; !begun || l.fault != nil {
			continue
		}
		if l.check != nil {
			l.check = l.check.plain()
		}
		tail = append(tail, l)
	}
	return tail
}

// plain returns a check with absolute times, which means the same wherever it stands in the file.
func (k *check) plain() *check {
	p := *k
	p.after = nil
	if k.within > 0 {
		p.within = 0
		if k.from == 0 {
			p.by = k.to
		} else {
			p.window = fault{from: k.from, to: k.to, windowed: true}
		}
	}
	return &p
}

// number numbers the lines as they will be in the formatted text.
func (f *File) number() {
	number, empty := 0, false
	for i := range f.lines {
		l := &f.lines[i]
		if l.text() == "" {
			empty = true
			continue
		}
		if empty && number > 0 {
			number++
		}
		number++
		l.number, empty = number, false
	}
}

// with returns the file with the given lines, whose faults are of kind whenAt, in place of its own faults.
func (f *File) with(faults []line) *File {
	p := *f
	p.lines = slices.Concat(f.head(), faults, f.tail())
	p.number()
	return &p
}
