package main

import (
	"os"
	"testing"

	"ulnet/cmd/internal/scripttest"
	"ulnet/lnd/lndtest/spec"
)

var tool = scripttest.Tool{Name: "lst", Run: run}

func TestMain(m *testing.M) { os.Exit(tool.Main(m)) }

// TestScripts runs lst against real daemons.
func TestScripts(t *testing.T) {
	spec.Covers(t, "ST-44", "ST-45", "ST-46")
	tool.Scripts(t, "testdata", "lst", "lnetctl", "lnetd")
}
