package main

import (
	"testing"

	"ulnet/cmd/internal/scripttest"
)

// TestScripts runs lnetctl against real daemons.
func TestScripts(t *testing.T) { scripttest.Run(t, "testdata", "lnetctl", "lnetd", "gossipctl") }
