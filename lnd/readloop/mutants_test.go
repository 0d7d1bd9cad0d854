//go:build !race

package readloop

import (
	"testing"

	"ulnet/lnd/lndtest/mutants"
)

// TestMutants: without any one of the rules in testdata/mutants a test fails.
func TestMutants(t *testing.T) {
	mutants.Kill(t)
}
