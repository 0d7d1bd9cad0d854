package gossipsim_test

import (
	"fmt"
	"testing"
	"time"

	"ulnet/gossip/gossipsim"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
)

// TestManyDead (G-GO-9): while almost half of the participants are dead, and in partitions
// without a quorum, the remaining ones declare none of each other dead; deaths are detected as
// fast as usual, and the traffic does not double.
func TestManyDead(t *testing.T) {
	spec.Covers(t, "G-GO-9")
	sweeps(t)
	cells := []struct{ dead, nodes int }{{7, 16}, {15, 32}, {30, 64}, {60, 128}, {120, 256}, {0, 99}}
	lasting, seeds := 40*time.Second, uint64(1)
	switch {
	case long():
		lasting, seeds = 5*time.Minute, 10
	case testing.Short():
		cells = cells[2:3]
	}
	for _, c := range cells {
		for _, loss := range []float64{0, 0.05} {
			t.Run(fmt.Sprintf("%d of %d, loss %v", c.dead, c.nodes, loss), func(t *testing.T) {
				for seed := range seeds {
					m := gossipsim.Measured{Nodes: c.nodes, Loss: loss, Seed: 7919 * seed}
					run := func() (gossipsim.Gone, error) { return m.MassDeath(c.dead, lasting) }
					if c.dead == 0 {
						run = func() (gossipsim.Gone, error) { return m.Islands(3, lasting) }
					}
					g, err := run()
					if err != nil {
						t.Fatal(err)
					}
					if v := g.Outcome; v.FalseDeaths+v.FewDeaths > 0 || v.Resurrections > 0 || v.Deaths == 0 || g.Late != "" {
						t.Errorf("seed %d: %+v %s", m.Seed, v, g.Late)
					}
					if g.After > 2*g.Before {
						t.Errorf("seed %d: %.0f bytes a cycle before, %.0f while many are dead", m.Seed, g.Before, g.After)
					}
				}
			})
		}
	}
}

// TestNoSecondPartner: if no node is dead, each cycle has one ping. At most one cycle in fifty
// has a second one, because its first partner seems dead.
func TestNoSecondPartner(t *testing.T) {
	sweeps(t)
	for _, nodes := range []int{8, 64, 256} {
		net := newNet(t, gossipsim.Config{Network: scenario.Network{Nodes: nodes, Seed: 1, Topology: gossipsim.Flat(0.05)}})
		runNet(t, net, 20*time.Second)
		before := net.Counters()
		runNet(t, net, 80*time.Second)
		after := net.Counters()
		if second, all := after.SecondPings-before.SecondPings, after.PingsSent-before.PingsSent; second*50 > all {
			t.Errorf("%d nodes: %d of %d pings are second ones", nodes, second, all)
		}
	}
}
