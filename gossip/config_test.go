package gossip

import (
	"testing"

	"ulnet/portals/portalstest"
)

// TestConfigReachesMachine: the agent passes on each field that both configurations share. The
// machine's configuration has no other fields, except one for simulations.
func TestConfigReachesMachine(t *testing.T) {
	portalstest.ConfigReaches(t, Config.Engine, map[string]any{"Keys": keysOf(t, "key")}, "Columns")
}
