package zone_test

import (
	"testing"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
)

// TestAgentAllocations: an idle zone sends only heartbeats. Neither a heartbeat, on its way
// through both stacks, nor the timer for it allocates memory. The bound leaves room for
// allocations of the runtime.
func TestAgentAllocations(t *testing.T) {
	const n, runs = 8, 5
	c := newCluster(t, n, nil)
	c.until(20*time.Second, func() bool { return c.all(n) })
	c.run(30 * time.Second)
	before := make([]engine.Stats, n)
	for i, a := range c.agents {
		before[i] = a.Status().Stats
	}
	allocs := testing.AllocsPerRun(runs, func() { c.run(10 * time.Second) })
	heartbeats := uint64(0)
	for i, a := range c.agents {
		after := a.Status().Stats
		heartbeats += after.Sent[wire.Heartbeat] - before[i].Sent[wire.Heartbeat]
		after.Sent[wire.Heartbeat] = before[i].Sent[wire.Heartbeat]
		if after.Sent != before[i].Sent {
			t.Errorf("node %d sends more than heartbeats: %v, before %v", i, after.Sent, before[i].Sent)
		}
	}
	perRun := float64(heartbeats) / (runs + 1)
	if perRun < 40*n {
		t.Errorf("%.0f heartbeats in 10 s", perRun)
	}
	if !raceEnabled && allocs > perRun/50 {
		t.Errorf("%.0f heartbeats, %.0f allocations", perRun, allocs)
	}
	t.Logf("%.0f heartbeats in 10 s, %.0f allocations", perRun, allocs)
}
