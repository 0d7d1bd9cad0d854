//go:build !race

package handlers

import (
	"os"
	"testing"

	"ulnet/lnd/lndtest/mutants"
)

// TestMutants: without any one of the rules in testdata/mutants the suite fails.
func TestMutants(t *testing.T) {
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("compiles the package some times: set ULNET_LONG=1")
	}
	mutants.Kill(t, "handlers.go")
}
