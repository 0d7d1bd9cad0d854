package main

import (
	"testing"
)

// TestTreeScripts runs the scripts that need no daemon.
func TestTreeScripts(t *testing.T) { tool.Scripts(t, "testdata/tree", "scollctl") }
