//go:build !race

package webcapture

import (
	"testing"

	"ulnet/lnd/lndtest/mutants"
)

// TestMutants: without any one of the rules in testdata/mutants the tests fail.
func TestMutants(t *testing.T) {
	mutants.Kill(t)
}
