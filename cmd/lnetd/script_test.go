package main

import (
	"testing"

	"ulnet/cmd/internal/scripttest"
)

// TestScripts runs lnetd as its users do.
func TestScripts(t *testing.T) {
	t.Parallel()
	scripttest.Run(t, "testdata", "lnetd", "lnetctl", "gossipctl", "scollctl")
}
