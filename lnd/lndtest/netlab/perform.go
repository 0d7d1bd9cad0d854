//go:build linux

package netlab

import (
	"errors"
	"fmt"
)

// SkipError says why there can be no lab here.
type SkipError struct {
	Why string // reason that the test prints when it is skipped
}

func (e *SkipError) Error() string { return e.Why }

// Perform is for programs that are no tests: it runs f with a [T], and then the cleanup
// functions. A failure of the lab ends f. Perform returns f's error or the lab's; it is a
// *[SkipError] where a test would be skipped.
func Perform(f func(T) error) (err error) {
	s := new(stage)
	defer func() {
		if failed := recover(); failed != nil {
			e, ours := failed.(stageError)
			if !ours {
				panic(failed)
			}
			err = errors.Join(err, e.err)
		}
	}()
	defer func() {
		for i := len(s.cleanups); i > 0; i-- {
			s.cleanups[i-1]()
		}
	}()
	return f(s)
}

// stage stands in for a test: what fails in the lab ends the function that Perform
// runs.
type stage struct{ cleanups []func() }

// stageError is a panic value that Perform recovers.
type stageError struct{ err error }

// These methods have the meaning that they have in testing.TB.

func (*stage) Helper() {}

func (s *stage) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (*stage) Fatalf(format string, args ...any) {
	panic(stageError{fmt.Errorf(format, args...)})
}

func (*stage) Skipf(format string, args ...any) {
	panic(stageError{&SkipError{fmt.Sprintf(format, args...)}})
}
