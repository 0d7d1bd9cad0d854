package main

import (
	"os"
	"testing"

	"ulnet/cmd/internal/scripttest"
)

var tool = scripttest.Tool{Name: "lnetctl", Run: run}

func TestMain(m *testing.M) { os.Exit(tool.Main(m)) }

// TestScripts runs lnetctl against real daemons.
func TestScripts(t *testing.T) { tool.Scripts(t, "testdata", "lnetctl", "lnetd", "gossipctl") }
