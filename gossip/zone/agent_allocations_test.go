package zone_test

import (
	"testing"
	"time"

	"ulnet/gossip/zone"
)

// TestAgentAllocations: an idle zone sends heartbeats alone, and a heartbeat
// allocates nothing on its way through both stacks: only timers do, one for each
// round of them.
func TestAgentAllocations(t *testing.T) {
	const n = 8
	c := newCluster(t, n, nil)
	c.until(20*time.Second, func() bool { return c.all(n) })
	c.run(30 * time.Second)
	before := make([]zone.Stats, n)
	for i, a := range c.agents {
		before[i] = a.Status().Stats
	}
	allocs := testing.AllocsPerRun(5, func() { c.run(10 * time.Second) })
	heartbeats := uint64(0)
	for i, a := range c.agents {
		after := a.Status().Stats
		heartbeats += after.Sent[zone.Heartbeat] - before[i].Sent[zone.Heartbeat]
		after.Sent[zone.Heartbeat] = before[i].Sent[zone.Heartbeat]
		if after.Sent[zone.DiscoveryRequest] == before[i].Sent[zone.DiscoveryRequest] && after.Sent != before[i].Sent {
			t.Errorf("node %d sends more than heartbeats: %v, before %v", i, after.Sent, before[i].Sent)
		}
	}
	const timers = 4 * 10 * n // in each sixth: some beats, and some timers of the simulated network
	if perRun := float64(heartbeats) / 6; perRun < 1.5*timers || !raceEnabled && allocs > timers {
		t.Errorf("%.0f heartbeats, %.0f allocations", perRun, allocs)
	}
	t.Logf("%d heartbeats, %.1f allocations in each sixth", heartbeats, allocs)
}
