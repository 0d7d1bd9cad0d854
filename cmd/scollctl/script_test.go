package main

import (
	"testing"

	"ulnet/cmd/internal/scripttest"
)

// TestTreeScripts runs the scripts that need no daemon.
func TestTreeScripts(t *testing.T) { scripttest.Run(t, "testdata/tree", "scollctl") }
