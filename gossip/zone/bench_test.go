package zone_test

import (
	"testing"
	"time"

	"ulnet/gossip/zone"
)

// BenchmarkIdleAgents is what a node of a zone at rest costs: its machine, its agent, and
// portals and LNet below, both ways; the simulated network, too. The work is that of its
// links, of which it has as many in a large zone as here. An operation is a second of
// all nodes; core-% is the part of a core that one of them takes.
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
