package main

import (
	"testing"

	"ulnet/cmd/internal/scripttest"
	"ulnet/lnd/lndtest/spec"
)

// TestScripts runs lst against real daemons.
func TestScripts(t *testing.T) {
	spec.Covers(t, "ST-44", "ST-45", "ST-46")
	scripttest.Run(t, "testdata", "lst", "lnetctl", "lnetd")
}
