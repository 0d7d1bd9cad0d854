package healthsim

import (
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/sim"
)

// TestEvictionUnderWay: a server may connect an incarnation that most servers have evicted as long as the broadcast of the
// eviction may not have reached it, also if servers begin to evict an earlier incarnation of the same client meanwhile. After
// that time it may not.
func TestEvictionUnderWay(t *testing.T) {
	const client, incarnation = sim.NodeID(3), 8
	for _, late := range []bool{false, true} {
		n := ran(t, standard(3, 1), 50*time.Second)
		run := func(d time.Duration) {
			if err := n.Run(n.Now() + d); err != nil {
				t.Fatal(err)
			}
		}
		told := func(server sim.NodeID, kind health.EventKind, incarnation uint64) {
			n.serverTold(server, &health.Event{Kind: kind, Cause: health.ByAdmin, Client: clientID(client), Incarnation: incarnation})
		}
		n.groundTruth.touch(0) // servers need not agree yet which incarnations are connected
		run(2 * time.Second)
		n.servers[1], n.servers[2] = buried{n.servers[1]}, buried{n.servers[2]}
		told(1, health.ClientSuspended, incarnation)
		if late {
			run(n.spreadIn() + 1)
		}
		told(2, health.ClientSuspended, incarnation-1)
		told(0, health.ClientConnected, incarnation)
		holds(t, n, !late, "uniform")
	}
}
