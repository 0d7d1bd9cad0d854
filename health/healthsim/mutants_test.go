//go:build !race

package healthsim

import (
	"testing"

	"ulnet/lnd/lndtest/mutants"
)

// TestMutants: without one of the rules of the engine in testdata/mutants, random plans fail.
func TestMutants(t *testing.T) {
	mutants.Kill(t)
}
