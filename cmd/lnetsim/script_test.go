package main

import (
	"testing"

	"ulnet/cmd/internal/scripttest"
)

// TestScripts runs lnetsim as its users do.
func TestScripts(t *testing.T) {
	t.Parallel()
	scripttest.Run(t, "testdata", "lnetsim")
}
