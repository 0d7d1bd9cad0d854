package scoll_test

import (
	"testing"

	"ulnet/lnet/nid"
	"ulnet/portals/portalstest"
	"ulnet/scoll"
)

// TestConfigReachesMachine: each field that the two configurations share is handed on, and
// the machine has none that a program cannot set but what follows from others.
func TestConfigReachesMachine(t *testing.T) {
	portalstest.ConfigReaches(t, scoll.Config.Engine, map[string]any{"Self": nid.MustParse("10.0.0.1@tcp")}, "Watched", "Signed")
}
