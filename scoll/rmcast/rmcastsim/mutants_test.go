//go:build !race

package rmcastsim

import (
	"testing"

	"ulnet/lnd/lndtest/mutants"
)

// TestMutants: if any one of the rules in testdata/mutants is taken out of the engine, random plans fail.
func TestMutants(t *testing.T) {
	mutants.Kill(t)
}
