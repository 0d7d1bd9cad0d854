package zone_test

import (
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// TestWallOfLateAgent: an agent that a program makes long after it started its node, or that joins
// long after it was made, accepts the incarnations of nodes that started meanwhile (MS-A2).
func TestWallOfLateAgent(t *testing.T) {
	spec.Covers(t, "MS-A2")
	const n, ahead = 3, 5 * time.Second
	for name, wait := range map[string][2]time.Duration{"made late": {4 * ahead, 0}, "joins late": {0, 4 * ahead}} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, n, func(_ int, cfg *zone.Config) { cfg.Ahead = uint64(ahead) })
			c.number = func(*simlnd.Host) uint64 { return 1<<60 + uint64(c.fabric.Now()) }
			c.run(time.Second) // the nodes boot
			for i := 1; i < n; i++ {
				c.fabric.Kill(sim.NodeID(i))
			}
			c.do(0, func(a *zone.Agent) { closed(t, a) })
			c.run(wait[0])
			c.do(0, func(*zone.Agent) {
				a, err := zone.New(c.tables[0], c.config(0))
				if err != nil {
					t.Fatal(err)
				}
				c.agents[0], c.views[0] = a, make(map[zone.ID]zone.Version)
				a.Watch(func(e zone.Event) { c.told(0, e) })
			})
			c.run(wait[1])
			c.do(0, func(a *zone.Agent) {
				if err := a.Join(0); err != nil {
					t.Error(err)
				}
			})
			for i := 1; i < n; i++ {
				c.fabric.Start(sim.NodeID(i), false)
			}
			c.until(20*time.Second, func() bool { return c.all(n) })
			if far := c.agents[0].Status().Stats.TooFarAhead; far > 0 {
				t.Errorf("%d versions are refused as too far ahead", far)
			}
		})
	}
}
