package zone

import (
	"testing"

	"ulnet/gossip/zone/engine"
	"ulnet/lnd/lndtest/spec"
	"ulnet/portals/keyring"
	"ulnet/portals/portalstest"
)

// TestConfigReachesMachine: the agent passes on each field that both configurations share. The
// machine's configuration has no other fields, except those for simulations and the wall clock.
func TestConfigReachesMachine(t *testing.T) {
	keys, err := keyring.NewKeys([]byte("a key that is long enough"))
	if err != nil {
		t.Fatal(err)
	}
	portalstest.ConfigReaches(t, Config.Engine, map[string]any{
		"Self": nth(1), "Bootstrap": []ID{nth(2)}, "Management": []ID{nth(3)}, "Keys": keys,
	}, "Table", "Wire", "Wall") // the agent sets Wall itself, from its own Wall or the start of its node
}

// TestPaper: Paper has the parameters of the evaluation in the design (MS-102).
func TestPaper(t *testing.T) {
	spec.Covers(t, "MS-102")
	p := Paper
	p.Zone, p.Self = "z", nth(1)
	if full, err := p.Engine().Filled(); err != nil || full.Threshold != 1 || full.Successors != 1 || full.Random != 3 {
		t.Errorf("%+v, %v", full, err)
	}
	if _, err := (Config{Zone: "z"}).Engine().Filled(); err == nil {
		t.Error("no id, and no error")
	} else if _, ours := err.(*engine.Error); !ours {
		t.Errorf("%T", err)
	}
}
