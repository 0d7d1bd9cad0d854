//go:build linux

package main

import (
	"testing"

	"ulnet/cmd/internal/scripttest"
)

// TestScripts runs real daemons.
func TestScripts(t *testing.T) {
	scripttest.Run(t, "testdata/daemon", "lnetd", "lnetctl", "scollctl", "gossipctl")
}
