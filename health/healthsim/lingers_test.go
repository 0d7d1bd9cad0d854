package healthsim

import (
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/sim"
)

// TestEarlierIncarnationSeen: a client that runs has begun its next incarnation, and a server still has the
// earlier one. That is an error after T_evict and a broadcast; if other programs of the client's node
// go on sending, only after 2·T_evict and a broadcast, because the server has to ask the client first.
func TestEarlierIncarnationSeen(t *testing.T) {
	const client = sim.NodeID(3)
	for _, row := range []struct {
		name   string
		talks  bool
		longer bool // count from the limit for a client whose node goes on sending, not from that for a silent node
		after  time.Duration
		holds  bool
	}{
		{"a silent node, in time", false, false, -time.Second, true},
		{"a silent node, too late", false, false, time.Second, false},
		{"a node that sends, later than a silent one", true, false, time.Second, true},
		{"a node that sends, in time", true, true, -time.Second, true},
		{"a node that sends, too late", true, true, time.Second, false},
	} {
		n := ran(t, standard(3, 1), 50*time.Second)
		n.groundTruth.nodes[client].talked = row.talks
		n.serverTold(0, &health.Event{Kind: health.ClientConnected, Client: clientID(client), Incarnation: n.client(client).Status().Incarnation + 1})
		end, _ := n.endIn(row.longer)
		if err := n.Run(n.Now() + end + row.after); err != nil {
			t.Fatal(err)
		}
		n.servers[1] = known{n.servers[1]}
		t.Run(row.name, func(t *testing.T) { holds(t, n, row.holds, "uniform") })
	}
}
