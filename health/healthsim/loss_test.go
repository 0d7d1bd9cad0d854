package healthsim

import (
	"fmt"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/health/wire"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// TestLossesSeen: a client must not lose a single server without a cause. It is an error if a server
// that most servers reach ends a connection as if it had no quorum, or takes a client for one that has
// left, and if a client drops a server that still has the connection. It is no error if the server was
// cut off, if the client was cut off from it, or if the server has ended the connection or died.
func TestLossesSeen(t *testing.T) {
	const client, server = sim.NodeID(3), sim.NodeID(1)
	for _, row := range []struct {
		name  string
		then  func(n *network, evicted func(health.Cause), dropped func(wire.Code))
		holds bool
	}{
		{"no quorum, without a cause", func(_ *network, evicted func(health.Cause), _ func(wire.Code)) { evicted(health.LostQuorum) }, false},
		{"no quorum, cut off", func(n *network, evicted func(health.Cause), _ func(wire.Code)) {
			n.Cut(sim.Nodes(0, 2), sim.Nodes(server))
			evicted(health.LostQuorum)
		}, true},
		{"no quorum, most servers dead", func(n *network, evicted func(health.Cause), _ func(wire.Code)) {
			n.Kill(0)
			n.Kill(2)
			evicted(health.LostQuorum)
		}, true},
		{"no quorum, one server dead", func(n *network, evicted func(health.Cause), _ func(wire.Code)) {
			n.Kill(0)
			evicted(health.LostQuorum)
		}, false},
		{"no quorum, cut off long ago", func(n *network, evicted func(health.Cause), _ func(wire.Code)) {
			n.Cut(sim.Nodes(0, 2), sim.Nodes(server))
			n.Heal()
			_ = n.Run(n.Now() + 2*n.knownIn())
			evicted(health.LostQuorum)
		}, false},
		{"left, but has not", func(_ *network, evicted func(health.Cause), _ func(wire.Code)) { evicted(health.Left) }, false},
		{"dropped, but still connected", func(_ *network, _ func(health.Cause), dropped func(wire.Code)) { dropped(wire.NotConnected) }, false},
		{"no answer, without a cause", func(_ *network, _ func(health.Cause), dropped func(wire.Code)) { dropped(wire.Orphaned) }, false},
		{"no answer, server paused", func(n *network, _ func(health.Cause), dropped func(wire.Code)) {
			n.Pause(server)
			dropped(wire.Orphaned)
		}, true},
		{"dropped, cut off", func(n *network, _ func(health.Cause), dropped func(wire.Code)) {
			n.Cut(sim.Nodes(client), sim.Nodes(server))
			dropped(wire.NotConnected)
		}, true},
		{"dropped, cut off from another server", func(n *network, _ func(health.Cause), dropped func(wire.Code)) {
			n.Cut(sim.Nodes(client), sim.Nodes(0))
			dropped(wire.NotConnected)
		}, false},
		{"dropped by the client itself", func(_ *network, _ func(health.Cause), dropped func(wire.Code)) { dropped(wire.OK) }, true},
		{"dropped by a server that was cut off", func(n *network, evicted func(health.Cause), dropped func(wire.Code)) {
			n.Cut(sim.Nodes(0, 2), sim.Nodes(server))
			evicted(health.LostQuorum)
			n.Heal()
			_ = n.Run(n.Now() + 2*n.timing.Orphan)
			dropped(wire.NotConnected)
		}, true},
	} {
		n := ran(t, standard(3, 1), 50*time.Second)
		incarnation := n.client(client).Status().Incarnation
		row.then(n, func(c health.Cause) {
			n.serverTold(server, &health.Event{Kind: health.ClientEvicted, Cause: c, Client: clientID(client), Incarnation: incarnation})
		}, func(c wire.Code) {
			n.clientTold(client, &health.ClientEvent{Kind: health.Dropped, Server: simlnd.NID(server), Incarnation: incarnation, Code: c})
		})
		t.Run(row.name, func(t *testing.T) { holds(t, n, row.holds, "no-false-loss") })
	}
}

// TestLossesByGossip: with gossip, a server may lose its quorum although it hears most servers, if it exchanges
// messages in both directions with fewer than half of them, or if that is true of those servers: gossip may then
// consider them dead. A single cut link does not excuse a loss, nor does another server that hears no other one,
// as long as the remaining servers are a majority. With the oracle, none of this excuses a loss.
func TestLossesByGossip(t *testing.T) {
	const client, server = sim.NodeID(5), sim.NodeID(1)
	others := sim.Nodes(0, 2, 3, 4)
	for _, row := range []struct {
		name         string
		then         func(n *network)
		holds        bool // with gossip
		withoutHolds bool // with the oracle
	}{
		{"heard by no other server", func(n *network) { n.Cut(sim.Nodes(server), others) }, true, false},
		{"hears none of the others", func(n *network) { n.Cut(others, sim.Nodes(server)) }, true, true},
		{"one link is cut in one direction", func(n *network) { n.Cut(sim.Nodes(server), sim.Nodes(0)) }, false, false},
		{"one of the others hears no other server", func(n *network) { n.Cut(sim.Nodes(1, 2, 3, 4), sim.Nodes(0)) }, false, false},
		{"one of the others hears no other server, and two are dead", func(n *network) {
			n.Cut(sim.Nodes(1, 2, 3, 4), sim.Nodes(0))
			n.Kill(3)
			n.Kill(4)
		}, true, false},
		{"heard by no other server, long ago", func(n *network) {
			n.Cut(sim.Nodes(server), others)
			n.Heal()
			_ = n.Run(n.Now() + 2*n.knownIn())
		}, false, false},
	} {
		for _, gossip := range []time.Duration{200 * time.Millisecond, 0} {
			cfg := standard(5, 1)
			cfg.gossip = gossip
			n := ran(t, cfg, 50*time.Second)
			row.then(n)
			n.serverTold(server, &health.Event{Kind: health.ClientEvicted, Cause: health.LostQuorum, Client: clientID(client), Incarnation: n.client(client).Status().Incarnation})
			want := row.holds
			if gossip == 0 {
				want = row.withoutHolds
			}
			t.Run(fmt.Sprintf("%s, gossip %v", row.name, gossip), func(t *testing.T) { holds(t, n, want, "no-false-loss") })
		}
	}
}

// TestCutByGossipIsNoReturn: a server was cut off in one direction only, and paths still led to it, so it has not
// been away. Therefore it must not accept an incarnation that most servers have evicted as an orphan since. It
// may have lost its quorum by gossip, which TestLossesByGossip permits.
func TestCutByGossipIsNoReturn(t *testing.T) {
	const client, incarnation, server = sim.NodeID(5), 7, sim.NodeID(4)
	for _, gossip := range []time.Duration{0, 200 * time.Millisecond} {
		for name, from := range map[string]sim.NodeSet{"not so": {}, "by any": sim.Nodes(0, 1, 2, 3), "by three": sim.Nodes(0, 1, 2)} {
			cfg := standard(5, 1)
			cfg.gossip = gossip
			n := ran(t, cfg, 50*time.Second)
			if name != "not so" {
				n.Cut(sim.Nodes(server), from)
			}
			_ = n.Run(n.Now() + time.Millisecond)
			n.Heal()
			_ = n.Run(n.Now() + 20*time.Second)
			for s := range sim.NodeID(3) {
				n.serverTold(s, &health.Event{Kind: health.ClientEvicted, Cause: health.LostMaster, Client: clientID(client), Incarnation: incarnation})
			}
			_ = n.Run(n.Now() + 20*time.Second)
			for s := 1; s < 4; s++ {
				n.servers[s] = buried{n.servers[s]}
			}
			n.serverTold(server, &health.Event{Kind: health.ClientConnected, Client: clientID(client), Incarnation: incarnation})
			if n.ledger.revived == 0 {
				t.Errorf("gossip %v, not heard for a moment %s: the server that takes an evicted incarnation is excused", gossip, name)
			}
		}
	}
}
