package main

import (
	"os"
	"testing"

	"ulnet/cmd/internal/scripttest"
)

var tool = scripttest.Tool{Name: "lnetsim", Run: execute}

func TestMain(m *testing.M) { os.Exit(tool.Main(m)) }

// TestScripts runs lnetsim as its users do.
func TestScripts(t *testing.T) {
	t.Parallel()
	tool.Scripts(t, "testdata", "lnetsim")
}
