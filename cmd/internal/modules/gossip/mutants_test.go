//go:build !race

package gossip

import (
	"testing"

	"ulnet/lnd/lndtest/mutants"
)

// TestMutants: if any one of the rules in testdata/mutants is taken out, the tests of this
// package fail.
func TestMutants(t *testing.T) {
	mutants.Kill(t)
}
