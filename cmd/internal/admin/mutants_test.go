//go:build !race

package admin

import (
	"testing"

	"ulnet/lnd/lndtest/mutants"
)

// TestMutants: without any one of the rules in testdata/mutants the tests fail.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package some times")
	}
	mutants.Kill(t, "service.go")
}
