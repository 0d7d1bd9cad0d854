package main

import (
	"errors"
	"fmt"

	"ulnet/cmd/internal/cli"
)

// stage stands in for the test that package netlab wants: what fails in the
// lab ends the function that perform runs.
type stage struct{ cleanups []func() }

// stageError is what perform recovers.
type stageError struct{ err error }

// perform runs f and what f leaves to be cleaned up. It returns f's error or
// that of the lab.
func perform(f func(*stage) error) (err error) {
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

// The methods of netlab.T.

func (*stage) Helper() {}

func (s *stage) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (*stage) Fatalf(format string, args ...any) {
	panic(stageError{fmt.Errorf(format, args...)})
}

func (*stage) Skipf(format string, args ...any) {
	panic(stageError{cli.Hint(fmt.Errorf(format, args...),
		"the soak needs root, network namespaces, TAP devices and nft (Debian package nftables)")})
}
