// Package effort says how much work a test does that has no end by itself: how many seeds, sizes and
// rounds it tries. There are three levels: short (go test -short, make check), normal (make test) and
// long (ULNET_LONG=1, make test-long). ULNET_LONG=sweep is long too, with all seeds of sweeps.
package effort

import (
	"os"
	"testing"
)

// Long reports whether a test may take minutes.
func Long() bool { return os.Getenv("ULNET_LONG") != "" }

// Of returns the argument for the level of this run.
func Of[T any](short, normal, long T) T {
	switch {
	case Long():
		return long
	case testing.Short():
		return short
	}
	return normal
}

// Sweeping reports whether sweeps try all of their seeds (ULNET_LONG=sweep), which takes a night.
func Sweeping() bool { return os.Getenv("ULNET_LONG") == "sweep" }

// Seeds returns how many seeds a sweep tries: few, some or all of them. A long run tries a tenth of all,
// unless it is Sweeping, so that the long suite fits into an hour. A run under the race detector tries few,
// unless it is long.
func Seeds[T ~int | ~uint64](few, some, all T) T {
	switch {
	case Sweeping():
		return all
	case Race && !Long():
		return few
	}
	return Of(few, some, max(some, all/10))
}

// Some returns every nth case in a short run and all of them otherwise.
func Some[T any](nth int, cases []T) []T {
	if Long() || !testing.Short() {
		return cases
	}
	var some []T
	for i := 0; i < len(cases); i += nth {
		some = append(some, cases[i])
	}
	return some
}

// Variants reports whether a test also runs those of its cases that only combine what its other cases
// test already. It does so in long runs, and under the race detector in all runs that are not short.
func Variants() bool { return Long() || Race && !testing.Short() }

// OneGoroutine skips a test under the race detector, unless the run is long, because one goroutine does
// everything in it, as in simulations, so that there can be no data race.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if Race && !Long() {
		t.Skip("one goroutine does everything: nothing races; left out by -race")
	}
}

// Anew keeps Go from reusing the result of the calling test from an earlier run of make check or
// make test. It is for tests that depend on what Go does not see: they start make, git or go, which
// read files of this repository.
func Anew() { _ = os.Getenv("ULNET_RUN") }
