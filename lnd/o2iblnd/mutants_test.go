//go:build !race

package o2iblnd

import (
	"testing"

	"ulnet/lnd/lndtest/mutants"
)

// TestMutants: without any one of the rules in testdata/mutants the tests of the machines
// fail.
func TestMutants(t *testing.T) {
	mutants.Kill(t)
}
