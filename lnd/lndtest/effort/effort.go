// Package effort says how much work a test puts into what it could go on with for ever:
// seeds, sizes, rounds. There are three levels: short (go test -short, make check),
// normal (make test) and long (ULNET_LONG=1, make test-long).
package effort

import (
	"os"
	"testing"
)

// Long reports whether a test may take minutes.
func Long() bool { return os.Getenv("ULNET_LONG") != "" }

// Of returns what belongs to the level of this run.
func Of[T any](short, normal, long T) T {
	switch {
	case Long():
		return long
	case testing.Short():
		return short
	}
	return normal
}
