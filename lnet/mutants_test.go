//go:build !race

package lnet

import (
	"testing"

	"ulnet/lnd/lndtest/mutants"
)

// TestMutants: without any one of the rules in testdata/mutants the tests fail.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package more than a dozen times")
	}
	mutants.Kill(t, "source.go")
}
