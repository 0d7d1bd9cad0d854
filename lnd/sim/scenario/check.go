package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// check is an expect, always or never statement.
type check struct {
	word  string // "expect", "always" or "never"
	claim claim
	// The time at which an expect is checked. At most one of within, by, at and window is set. If
	// none is, the check is made at the end of the run.
	within, by, at time.Duration
	// span of a check "from A to B", of which only windowed, from and to are used; to is 0 for the end
	// of the run
	window fault
	after  *fault // the last fault before the check; the limit of a check "within" counts from that fault

	from, to time.Duration // times between which the check is evaluated, after parsing
	column   int
}

// claim is what a check tests: a condition with its arguments, or a quantity compared
// with a number.
type claim struct {
	name  string
	args  Args
	named []set  // the sets of nodes that args name
	op    string // operator of a comparison
	value float64
}

func (c *claim) String() string {
	if c.op != "" {
		return join(c.name, c.op, formatNumber(c.value))
	}
	return join(append([]string{c.name}, c.args...)...)
}

// String returns the check in its usual form.
func (k *check) String() string {
	text := join(k.word, k.claim.String())
	switch {
	case k.within > 0:
		return join(text, "within", formatTime(k.within))
	case k.by > 0:
		return join(text, "by", formatTime(k.by))
	case k.at > 0:
		return join(text, "at", formatTime(k.at))
	case k.window.windowed:
		return join(text, k.window.window())
	}
	return text
}

// check parses the rest of a check, after its first word.
func (c *cursor) check(word string, p *Protocol) *check {
	k := &check{word: word, column: c.here().column}
	k.claim = c.claim(p)
	switch {
	case word != "expect" || c.here().text == "from":
		c.window(&k.window)
	case c.accept("within"):
		k.within = c.period()
	case c.accept("by"):
		k.by = c.period()
	case c.accept("at"):
		k.at = c.period()
	}
	return k
}

// operators are the comparisons of a quantity with a number.
var operators = []string{"<", "<=", "=", "!=", ">=", ">"}

func (c *cursor) claim(p *Protocol) claim {
	names, quantities := p.conditionNames(), p.quantityNames()
	all := slices.Concat(names, quantities)
	w := c.take("a condition: " + strings.Join(all, ", "))
	compared := c.more() && slices.Contains(operators, c.here().text)
	switch i := slices.Index(names, w.text); {
	case compared && slices.Contains(quantities, w.text):
		cl := claim{name: w.text, op: c.take("").text}
		cl.value = Args{c.value(form{kind: Number})}.Float(0)
		return cl
	case i >= 0:
		args, named := c.args(p.AllConditions()[i].Args)
		return claim{name: w.text, args: args, named: named}
	case slices.Contains(quantities, w.text):
		c.fail(c.here(), "%s is a quantity: want it compared with a number by %s", w.text, strings.Join(operators, " "))
	default:
		c.fail(w, "unknown condition %q: want %s, or one of %s compared with a number", w.text, strings.Join(names, ", "), strings.Join(quantities, ", "))
	}
	return claim{}
}

// maxEvaluations bounds how often conditions are evaluated in a run.
const maxEvaluations = 100_000_000

// schedule sets the times between which each check is evaluated. It returns an error for each time
// that is after the end of the run, and one if the checks would be evaluated too often.
func (f *File) schedule() Errors {
	var errs Errors
	late := func(line, column int, at time.Duration) {
		if at > f.Length {
			why := fmt.Sprintf("%s is after the end of the run at %s", formatTime(at), formatTime(f.Length))
			errs = append(errs, &Error{f.Name, line, column, why})
		}
	}
	late(f.settings.bootLine, 1, f.settings.bootOver)
	for _, b := range f.settings.bootAt {
		late(b.line, b.set.column, b.at)
	}
	for _, l := range f.lines {
		switch {
		case l.fault != nil:
			late(l.number, 1, l.fault.last())
		case l.check != nil:
			l.check.schedule(f.Length)
			late(l.number, l.check.column, l.check.to)
			if every := f.checkEvery(); f.Length/every > maxEvaluations && len(errs) == 0 {
				why := fmt.Sprintf("checks every %s of %s are too many: want a line check every %s, or more",
					formatTime(every), formatTime(f.Length), formatTime(f.Length/maxEvaluations+1))
				errs = append(errs, &Error{f.Name, l.number, 1, why})
			}
		}
	}
	return errs
}

// last returns the latest of the instants that are given for a fault.
func (f *fault) last() time.Duration { return max(f.at, f.from, f.to) }

func (k *check) schedule(length time.Duration) {
	if k.after != nil {
		k.from = k.after.end(length)
	}
	switch {
	case k.word != "expect" || k.window.windowed:
		if k.from, k.to = k.window.from, k.window.to; k.to == 0 {
			k.to = max(k.from, length)
		}
	case k.within > 0:
		k.to = k.from + k.within
	case k.by > 0:
		k.from, k.to = 0, k.by
	case k.at > 0:
		k.from, k.to = k.at, k.at
	default:
		k.from, k.to = length, length
	}
}
