//go:build linux

package main

import (
	"testing"
)

// TestScripts runs real daemons.
func TestScripts(t *testing.T) {
	tool.Scripts(t, "testdata/daemon", "lnetd", "lnetctl", "scollctl", "gossipctl")
}
