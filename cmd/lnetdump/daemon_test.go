package main

import (
	"testing"

	"ulnet/cmd/internal/scripttest"
)

// TestDaemonScripts captures the traffic of real daemons.
func TestDaemonScripts(t *testing.T) {
	scripttest.Run(t, "testdata/daemon", "lnetdump", "lnetctl", "lnetd")
}
