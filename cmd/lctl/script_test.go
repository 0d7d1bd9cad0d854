package main

import (
	"testing"

	"ulnet/cmd/internal/scripttest"
)

// TestScripts runs lctl against real daemons.
func TestScripts(t *testing.T) { scripttest.Run(t, "testdata", "lctl", "lnetctl", "lnetd") }
