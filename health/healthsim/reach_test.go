package healthsim

import (
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// TestCutFromFew: a client that is cut off from its master, or from a minority of the servers, must not be evicted,
// however long that lasts. It may be if it is left with no more than half of the servers to choose from, if a server
// that it reaches cannot tell its former master of its choice, or if another server fails at about the same time.
func TestCutFromFew(t *testing.T) {
	const client, master = sim.NodeID(5), sim.NodeID(4) // the servers are nodes 0 to 4
	for _, row := range []struct {
		name  string
		with  func(n *network) // what is done before the client is cut off from the server that evicts it
		after func(n *network) // what is done 30 s later
		wait  time.Duration    // from then until the eviction
		holds bool
	}{
		{"from one", nil, nil, 10 * time.Second, false},
		{"from one, later from a minority", nil, func(n *network) { n.Cut(sim.Nodes(3), sim.Nodes(client)) }, 10 * time.Second, false},
		{"from one, later from most", nil, func(n *network) { n.Cut(sim.Nodes(client), sim.Nodes(2, 3)) }, 6500 * time.Millisecond, true},
		{"from one, later from most for a moment", nil, func(n *network) { n.Cut(sim.Nodes(client), sim.Nodes(2, 3)) }, 6 * time.Second, false},
		{"others have drained", func(n *network) { n.Command(2, "drain on"); n.Command(3, "drain on") }, nil, 10 * time.Second, true},
		{"another has drained", func(n *network) { n.Command(3, "drain on") }, nil, 10 * time.Second, false},
		{"the disks of others are broken", func(n *network) { n.Command(2, "disk broken"); n.Command(3, "disk broken") }, nil, 10 * time.Second, true},
		{"others are dead", func(n *network) { n.Kill(2); n.Kill(3) }, nil, 10 * time.Second, true},
		{"another server does not reach its master", func(n *network) { n.Cut(sim.Nodes(1), sim.Nodes(master)) }, nil, 10 * time.Second, true},
		{"another server does not reach a third", func(n *network) { n.Cut(sim.Nodes(1), sim.Nodes(0)) }, nil, 10 * time.Second, false},
		{"another died just before", func(n *network) { n.Kill(3); _ = n.Run(n.Now() + 5*time.Second) }, nil, -12 * time.Second, true},
		{"another died long before", func(n *network) { n.Kill(3); _ = n.Run(n.Now() + 10*time.Second) }, nil, -12 * time.Second, false},
		{"another died at once, and the eviction is late", func(n *network) { n.Kill(3) }, nil, 10 * time.Second, false},
	} {
		n := ran(t, standard(5, 1), 50*time.Second)
		run := func(d time.Duration) {
			if err := n.Run(n.Now() + d); err != nil {
				t.Fatal(err)
			}
		}
		if row.with != nil {
			row.with(n)
			run(time.Millisecond)
		}
		n.Cut(sim.Nodes(client), sim.Nodes(master))
		run(30*time.Second + min(row.wait, 0))
		if row.after != nil {
			row.after(n)
		}
		run(max(row.wait, 0))
		e := health.Event{Kind: health.ClientSuspended, Cause: health.TimedOut, Client: clientID(client), Incarnation: n.client(client).Status().Incarnation + 1}
		n.serverTold(master, &e)
		n.clientTold(client, &health.ClientEvent{Kind: health.Evicted, Server: simlnd.NID(master), Incarnation: e.Incarnation})
		t.Run(row.name, func(t *testing.T) { holds(t, n, row.holds, "no-false-eviction") })
	}
}

// TestOrphanOfOneServer: a server may evict an orphan by itself while the client is out of its reach, and refuse it
// later, as long as no more than half of the servers have the tombstone, or once another server was restarted and has
// asked for tombstones. It may not if the client was in its reach.
func TestOrphanOfOneServer(t *testing.T) {
	const client, server, incarnation = sim.NodeID(5), sim.NodeID(4), 7
	for _, row := range []struct {
		name  string
		cut   bool
		most  bool
		after time.Duration // after 2 s, another server is restarted
		holds bool
	}{
		{"out of reach", true, false, time.Second, true},
		{"in reach", false, false, time.Second, false},
		{"in reach again for long", true, false, 25 * time.Second, false},
		{"out of reach, and most have the tombstone", true, true, time.Second, false},
		{"out of reach, and most have the tombstone after another server was restarted", true, true, 2 * time.Second, true},
	} {
		n := ran(t, standard(5, 1), 50*time.Second)
		if row.cut {
			n.Cut(sim.Nodes(client), sim.Nodes(server))
			n.Heal()
		}
		if err := n.Run(n.Now() + row.after); err != nil {
			t.Fatal(err)
		}
		n.serverTold(server, &health.Event{Kind: health.ClientEvicted, Cause: health.LostMaster, Client: clientID(client), Incarnation: incarnation})
		if row.after == 2*time.Second {
			n.groundTruth.touch(0)
		}
		for s := range 3 {
			if row.most {
				n.servers[s] = buried{n.servers[s]}
			}
		}
		n.clientTold(client, &health.ClientEvent{Kind: health.Evicted, Server: simlnd.NID(server), Incarnation: incarnation})
		t.Run(row.name, func(t *testing.T) { holds(t, n, row.holds, "no-false-eviction") })
	}
}

// TestOpenEvictionNoError: most servers may have the tombstone of a client that runs while its former master may still
// withdraw the eviction: for some ticks, or for as long as another server does not answer the master.
func TestOpenEvictionNoError(t *testing.T) {
	const client = sim.NodeID(5)
	for _, row := range []struct {
		name  string
		then  func(n *network)
		after time.Duration
		holds bool
	}{
		{"for some ticks", nil, 13 * time.Second, true},
		{"for long", nil, 15 * time.Second, false},
		{"a server does not answer", func(n *network) { n.Cut(sim.Nodes(4), sim.Nodes(0)) }, 15 * time.Second, true},
		{"it was withdrawn", func(n *network) {
			n.serverTold(0, &health.Event{Kind: health.ClientRehomed, Client: clientID(client), Incarnation: n.client(client).Status().Incarnation})
		}, 3 * time.Second, true},
		{"it was withdrawn long ago", func(n *network) {
			n.serverTold(0, &health.Event{Kind: health.ClientRehomed, Client: clientID(client), Incarnation: n.client(client).Status().Incarnation})
		}, 5 * time.Second, false},
	} {
		n := ran(t, standard(5, 1), 50*time.Second)
		n.serverTold(0, &health.Event{Kind: health.ClientSuspended, Cause: health.TimedOut, Client: clientID(client), Incarnation: n.client(client).Status().Incarnation})
		if row.then != nil {
			row.then(n)
		}
		if err := n.Run(n.Now() + row.after); err != nil {
			t.Fatal(err)
		}
		for s := range 3 {
			n.servers[s] = buried{n.servers[s]}
		}
		t.Run(row.name, func(t *testing.T) { holds(t, n, row.holds, "no-false-eviction") })
	}
}
