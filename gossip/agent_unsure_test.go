package gossip

import (
	"testing"

	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestUnsureWhileSilent: CH-A6: an agent that is silent after its start cannot judge which participants are alive until it
// has heard of most of them: they may all have started with it. After its silence it can.
func TestUnsureWhileSilent(t *testing.T) {
	spec.Covers(t, "CH-A6")
	const n = 4
	start := func() *station {
		s := newStation(t, n, testNIDs(n)[0])
		s.start(func(c *Config) { c.ColdStart = false })
		if !s.agent.Unsure() {
			t.Error("sure, although it has heard of no other")
		}
		return s
	}
	heard := start()
	heard.arrive(heard.list.NID(2), wire.PingBits, heard.ping(2))
	if status := heard.agent.Status(); heard.agent.Unsure() || !status.Silent || status.Alive != n {
		t.Errorf("unsure %v, silent %v, %d alive", heard.agent.Unsure(), status.Silent, status.Alive)
	}
	alone := start()
	for alone.agent.Status().Silent {
		if !alone.agent.Unsure() {
			t.Fatal("sure while it is silent and alone")
		}
		alone.clock.advance(interval)
	}
	if alone.agent.Unsure() {
		t.Error("unsure after the silence")
	}
}
