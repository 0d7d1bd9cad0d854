package healthsim

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
)

// TestQuorumTable: CH-3, CH-A5: among one to six servers, a server has a quorum if more than
// half of them are alive, itself included; exactly half is no quorum. Gossip and the oracle
// report the quorum, and the servers act on it: CH-21, CH-36.
func TestQuorumTable(t *testing.T) {
	spec.Covers(t, "CH-3", "CH-21", "CH-36", "CH-A5")
	for _, gossip := range []time.Duration{0, 200 * time.Millisecond} {
		for servers := 1; servers <= 6; servers++ {
			if servers == 1 && gossip > 0 {
				continue // a single node has no other node to gossip with
			}
			for alive := 1; alive <= servers; alive++ {
				cfg := standard(servers, 1)
				cfg.Seed, cfg.gossip = uint64(servers), gossip
				cfg.StartAt = func(id sim.NodeID) time.Duration { // the client starts last
					return time.Duration(int(id)/servers) * 20 * time.Second
				}
				n := ran(t, cfg, 5*time.Second)
				for id := alive; id < servers; id++ {
					n.Crash(sim.NodeID(id))
				}
				if err := n.Run(40 * time.Second); err != nil {
					t.Fatal(err)
				}
				want := alive > servers-alive
				condition := "no-quorum"
				if want {
					condition = "quorum"
				}
				holds(t, n, true, condition)
				holds(t, n, want, "master-in", "all")
				if t.Failed() {
					t.Fatalf("%d of %d alive, gossip %v", alive, servers, gossip)
				}
			}
		}
	}
}
