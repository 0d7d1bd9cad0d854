package sim

import (
	"errors"
	"fmt"
	"iter"
)

// DivergenceError says that two runs which should have been the same were not.
type DivergenceError struct {
	// the first step that differs, as each of the two runs made it; Number 0: the run had ended before
	// this step
	First, Second Step
}

func (e *DivergenceError) Error() string {
	s := max(e.First.Number, e.Second.Number)
	return fmt.Sprintf("step %d differs between two runs of one seed: %s; %s", s, describe(&e.First), describe(&e.Second))
}

func describe(s *Step) string {
	if s.Number == 0 {
		return "none"
	}
	input := s.Kind.String()
	if s.Kind == Message || s.Kind == Refused || s.Kind == Reset {
		input += " from " + s.From.String()
	}
	return fmt.Sprintf("node %v at %v, incarnation %d, %s: %d messages, %d events, wake %v, digest %016x",
		s.Node, s.At, s.Incarnation, input, s.Sends, s.Events, s.Wake, s.Digest)
}

// Verify finds programs that are not deterministic. drive runs two networks of equal
// configuration and seed, step by step in turn. The first step in which they differ is a
// [*DivergenceError]; if there is none, Verify returns the error of drive. The programs of the
// two networks should share nothing.
func Verify(a, b Control, drive func(Control) error) error {
	var errs [2]error
	first, stopFirst := iter.Pull(steps(a, drive, &errs[0]))
	defer stopFirst()
	second, stopSecond := iter.Pull(steps(b, drive, &errs[1]))
	defer stopSecond()
	for {
		s, more1 := first()
		r, more2 := second()
		for i := range max(len(s), len(r)) {
			var e DivergenceError
			if i < len(s) {
				e.First = s[i]
			}
			if i < len(r) {
				e.Second = r[i]
			}
			if e.First != e.Second {
				return &e
			}
		}
		if !more1 && !more2 {
			return errs[0]
		}
	}
}

var errEnough = errors.New("sim: the other run differs")

// steps yields the steps of a run, many at a time.
func steps(c Control, drive func(Control) error, err *error) iter.Seq[[]Step] {
	return func(yield func([]Step) bool) {
		batch := make([]Step, 0, 512)
		wanted := true
		c.Observe(func(s Step) {
			batch = append(batch, s)
			if len(batch) < cap(batch) || !wanted {
				return
			}
			if wanted = yield(batch); !wanted {
				c.Stop(errEnough)
			}
			batch = batch[:0]
		})
		defer c.Observe(nil)
		*err = drive(c)
		if wanted && len(batch) > 0 {
			yield(batch)
		}
	}
}
