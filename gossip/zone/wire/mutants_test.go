//go:build !race

package wire

import (
	"testing"

	"ulnet/lnd/lndtest/mutants"
)

// TestMutants: without any one of the rules in testdata/mutants the suite fails.
func TestMutants(t *testing.T) {
	mutants.Kill(t)
}
