package main

import (
	"testing"

	"ulnet/cmd/internal/scripttest"
)

// TestTreeScripts needs no daemon.
func TestTreeScripts(t *testing.T) { scripttest.Run(t, "testdata/tree", "scollctl") }
