package main

import (
	"os"
	"testing"

	"ulnet/cmd/internal/scripttest"
)

var tool = scripttest.Tool{Name: "lctl", Run: run}

func TestMain(m *testing.M) { os.Exit(tool.Main(m)) }

// TestScripts runs lctl against real daemons.
func TestScripts(t *testing.T) { tool.Scripts(t, "testdata", "lctl", "lnetctl", "lnetd") }
