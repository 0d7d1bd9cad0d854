package healthsim

import (
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
)

// TestCheckerSees: an eviction without a cause, one that is taken back by who and
// most others had made it, and a life that others have evicted, are noticed; the
// first is not when the client was apart from a server.
func TestCheckerSees(t *testing.T) {
	const client, life = sim.NodeID(3), 7
	start := func() (*Net, *instance) {
		n, err := New(Config{Servers: 3, Clients: 1, Seed: 1, Topology: Flat(), Bare: true})
		if err == nil {
			err = n.Run(20 * time.Second)
		}
		if err != nil {
			t.Fatal(err)
		}
		return n, &instance{n}
	}
	holds := func(in *instance, condition string, want bool) {
		t.Helper()
		if ok, why := in.Check(condition, scenario.Args{}); ok != want {
			t.Errorf("%s: %v, %s", condition, ok, why)
		}
	}
	n, in := start()
	holds(in, "no-false-eviction", true)
	n.clientTold(client, &health.ClientEvent{Kind: health.Evicted, Server: simlnd.NID(0), Incarnation: life})
	holds(in, "no-false-eviction", false)

	n, in = start()
	n.Partition(sim.Nodes(client))
	n.clientTold(client, &health.ClientEvent{Kind: health.Evicted, Server: simlnd.NID(0), Incarnation: life})
	holds(in, "no-false-eviction", true)

	n, in = start()
	tell := func(server sim.NodeID, kind health.EventKind) {
		n.serverTold(server, &health.Event{Kind: kind, Cause: health.TimedOut, Client: ClientID(client), Incarnation: life})
	}
	tell(0, health.ClientEvicted)
	tell(0, health.ClientConnected)
	holds(in, "uniform", true) // one of three: it was taken back
	tell(1, health.ClientEvicted)
	tell(0, health.ClientConnected)
	holds(in, "uniform", false)
}
