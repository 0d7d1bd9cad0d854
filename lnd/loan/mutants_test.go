//go:build !race

package loan

import (
	"testing"

	"ulnet/lnd/lndtest/mutants"
)

// TestMutants: without any one of the rules in testdata/mutants a test fails.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package more than a dozen times")
	}
	mutants.Kill(t, "lending.go")
}
