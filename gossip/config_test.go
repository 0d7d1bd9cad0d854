package gossip

import (
	"testing"

	"ulnet/portals/portalstest"
)

// TestConfigReachesMachine: each field that the two configurations share is handed on, and
// the machine has none that a program cannot set but the one for simulations.
func TestConfigReachesMachine(t *testing.T) {
	portalstest.ConfigReaches(t, Config.Engine, map[string]any{"Keys": keysOf(t, "key")}, "Columns")
}
