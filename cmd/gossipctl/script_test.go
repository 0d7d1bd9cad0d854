package main

import (
	"os"
	"testing"

	"ulnet/cmd/internal/scripttest"
)

var tool = scripttest.Tool{Name: "gossipctl", Run: run}

func TestMain(m *testing.M) { os.Exit(tool.Main(m)) }

// TestScripts runs gossipctl against real daemons.
func TestScripts(t *testing.T) { tool.Scripts(t, "testdata", "gossipctl", "lnetctl", "lnetd") }
