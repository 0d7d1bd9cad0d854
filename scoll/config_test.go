package scoll_test

import (
	"testing"

	"ulnet/lnet/nid"
	"ulnet/portals/portalstest"
	"ulnet/scoll"
)

// TestConfigReachesMachine: Engine copies each field that the two configurations share. The
// machine's other fields are computed from these.
func TestConfigReachesMachine(t *testing.T) {
	portalstest.ConfigReaches(t, scoll.Config.Engine, map[string]any{"Self": nid.MustParse("10.0.0.1@tcp")}, "Watched", "Signed")
}
