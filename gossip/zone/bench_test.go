package zone_test

import (
	"testing"
	"time"

	"ulnet/gossip/zone"
)

// BenchmarkIdleAgents measures the cost of a node in a zone at rest: its machine and agent,
// portals and LNet below, in both directions, and the simulated network. The cost depends on
// the number of links of a node, which is the same in a large zone. An operation is a second of
// all nodes; core-% is the share of a core that one node takes.
func BenchmarkIdleAgents(b *testing.B) {
	const n = 64
	c := newCluster(b, n, func(_ int, cfg *zone.Config) { cfg.MaxMessage = manyMessage })
	c.lean = true
	c.run(time.Minute)
	if s := c.agents[5].Status(); s.Members != n {
		b.Fatalf("%d members", s.Members)
	}
	b.ReportAllocs()
	for b.Loop() {
		c.run(time.Second)
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/n*100, "core-%")
}
