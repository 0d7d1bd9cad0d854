package healthsim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
)

// TestCheckerSees: the checker detects four errors: an eviction without a cause, an incarnation
// that one server holds and another has evicted, an evicted incarnation that is accepted again,
// and a client that has ended and is still known. An eviction is no error if the client was cut
// off from a server.
func TestCheckerSees(t *testing.T) {
	const client, incarnation = sim.NodeID(3), 7
	start := func() *Net {
		n, err := New(Config{Servers: 3, Clients: 1, Network: scenario.Network{Seed: 1, Topology: Flat()}, Bare: true})
		if err == nil {
			err = n.Run(50 * time.Second)
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	holds := func(n *Net, condition string, want bool) {
		t.Helper()
		if ok, why := n.Check(condition, scenario.Args{}); ok != want {
			t.Errorf("%s: %v, %s", condition, ok, why)
		}
	}
	n := start()
	holds(n, "no-false-eviction", true)
	n.clientTold(client, &health.ClientEvent{Kind: health.Evicted, Server: simlnd.NID(0), Incarnation: incarnation})
	holds(n, "no-false-eviction", false)

	n = start()
	n.Partition(sim.Nodes(client))
	n.serverTold(0, &health.Event{Kind: health.ClientSuspended, Cause: health.TimedOut, Client: clientID(client), Incarnation: incarnation})
	n.Heal()
	n.clientTold(client, &health.ClientEvent{Kind: health.Evicted, Server: simlnd.NID(0), Incarnation: incarnation})
	holds(n, "no-false-eviction", true)

	n = start()
	n.servers[1] = buried{n.servers[1]}
	holds(n, "uniform", false)
	n.touch(0)
	holds(n, "uniform", true) // most servers do not have the tombstone yet
	if err := n.Run(n.Now() + 2*time.Second); err != nil {
		t.Fatal(err)
	}
	n.servers[2] = buried{n.servers[2]}
	n.serverTold(0, &health.Event{Kind: health.ClientConnected, Client: clientID(client), Incarnation: incarnation})
	holds(n, "uniform", false) // most servers have the tombstone

	n = start()
	n.Kill(client)
	after, _ := n.endIn(false)
	if err := n.Run(n.Now() + after + time.Second); err != nil {
		t.Fatal(err)
	}
	holds(n, "uniform", true)
	n.servers[1] = known{n.servers[1]}
	holds(n, "uniform", false)
}

// TestExemptionsDocumented: each exemption of the checker is a sentence of the documentation.
func TestExemptionsDocumented(t *testing.T) {
	texts := make(map[string]string)
	for _, e := range exemptions {
		if texts[e.file] == "" {
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", e.file))
			if err != nil {
				t.Fatal(err)
			}
			texts[e.file] = strings.Join(strings.Fields(string(text)), " ")
		}
		if !strings.Contains(texts[e.file], e.sentence) {
			t.Errorf("%s does not say %q", e.file, e.sentence)
		}
	}
}

// buried is a server that has a tombstone of every incarnation; known is a server to which
// every client is connected.
type (
	buried struct{ watcher }
	known  struct{ watcher }
)

func (buried) Buried(health.ClientID) (uint64, bool) { return 1 << 63, true }

func (known) Client(id health.ClientID) (health.ClientInfo, bool) {
	return health.ClientInfo{Client: id, State: "connected"}, true
}
