package healthsim_test

import (
	"testing"
	"time"

	"ulnet/health/healthsim"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// TestQuorumTable: CH-3, CH-A5: among one to six servers, a server has a quorum if more than
// half of them are alive, itself included; exactly half is no quorum. Gossip and the oracle
// report the quorum, and the servers act on it: CH-21, CH-36.
func TestQuorumTable(t *testing.T) {
	spec.Covers(t, "CH-3", "CH-21", "CH-36", "CH-A5")
	for _, gossip := range []time.Duration{0, 200 * time.Millisecond} {
		for servers := 1; servers <= 6; servers++ {
			if servers == 1 && gossip > 0 {
				continue // a single node has no other to gossip with
			}
			for alive := 1; alive <= servers; alive++ {
				n, err := healthsim.New(healthsim.Config{
					Servers: servers, Clients: 1, Network: scenario.Network{Seed: uint64(servers), Topology: healthsim.Flat(), StartAt: func(id sim.NodeID) time.Duration { // the client starts last
						return time.Duration(int(id)/servers) * 20 * time.Second
					}}, Gossip: gossip,
				})
				if err == nil {
					err = n.Run(5 * time.Second)
				}
				if err != nil {
					t.Fatal(err)
				}
				for id := alive; id < servers; id++ {
					n.Crash(sim.NodeID(id))
				}
				if err := n.Run(40 * time.Second); err != nil {
					t.Fatal(err)
				}
				want := alive > servers-alive
				if ok, why := n.Quorum(sim.AllNodes, want); !ok {
					t.Errorf("%d of %d alive, gossip %v: %s", alive, servers, gossip, why)
				}
				if ok, why := n.MasterIn(sim.AllNodes, sim.AllNodes); ok != want {
					t.Errorf("%d of %d alive, gossip %v: the client is connected: %v; %s", alive, servers, gossip, ok, why)
				}
			}
		}
	}
}
