package main

import (
	"testing"

	"ulnet/cmd/internal/scripttest"
)

// TestScripts runs gossipctl against real daemons.
func TestScripts(t *testing.T) {
	scripttest.Run(t, "testdata", "gossipctl", "lnetctl", "lnetd")
}
