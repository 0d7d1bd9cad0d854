package health

import (
	"testing"
	"time"

	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
	"ulnet/portals/portalstest"
)

// TestConfigReachesMachine: each field that the configuration of an agent shares with that of
// its machine is passed on. The machine's other fields are bounds that no program has needed to
// change, or are set by the agent.
func TestConfigReachesMachine(t *testing.T) {
	keys, err := keyring.NewKeys([]byte("a key of the cluster"))
	if err != nil {
		t.Fatal(err)
	}
	odd := map[string]any{
		"Self": nid.MustParse("10.0.0.1@tcp"), "Servers": []nid.NID{nid.MustParse("10.0.0.2@tcp")}, "ID": ClientID{1},
		"Timing": Timing{Ping: time.Second}, "Keys": keys, "ClaimKeys": keys,
	}
	portalstest.ConfigReaches(t, AgentConfig.Engine, odd, "MaxTombstones", "MaxBroadcasts", "MaxIncarnations", "FlapWindow")
	portalstest.ConfigReaches(t, DialConfig.Engine, odd, "MaxBackoff", "From")
}
