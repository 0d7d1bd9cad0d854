package health_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// rails are the places of the two NIs of a host, in the order in which they start.
var rails = []lnetsim.Interface{{Net: simlnd.Net, Rail: 0}, {Net: nid.MakeNet(nid.TCP, 1), Rail: 1}}

func onRail(i, rail int) nid.NID {
	return simlnd.NIDOn(rails[rail].Net, sim.NodeID(i), rails[rail].Rail)
}

// newRailed returns a cluster whose hosts have two NIs and discovery. Servers and clients use the NIDs of
// one rail, and keys if there are any.
func newRailed(t *testing.T, clients, rail int, keys keyring.Keys) *cluster {
	c := newCluster(t, clients)
	c.interfaces, c.rail, c.keys = rails, rail, make(map[int]keyring.Keys)
	for i := range servers {
		c.ids[i] = onRail(i, rail)
	}
	for i := range servers + clients {
		c.keys[i] = keys
	}
	return c
}

// wantPrimary fails if another host knows host i by another primary NID.
func (c *cluster) wantPrimary(i int, want nid.NID) {
	c.t.Helper()
	for k, table := range c.tables {
		if is := table.Node().Primary(onRail(i, c.rail)); k != i && (k < servers || i < servers) && is != want {
			c.t.Errorf("node %d knows node %d as %v, want %v", k, i, is, want)
		}
	}
}

// restartFirstNI stops the first NI of a host and starts it again, so that it becomes the last one
// in the node's list of NIs.
func (c *cluster) restartFirstNI(i int) {
	c.t.Helper()
	c.hosts[i].Do(func() {
		node := c.tables[i].Node()
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		_ = node.RemoveNI(gone, node.NIs()[1]) // messages that were not sent yet are lost
		if _, err := node.AddNI(c.hosts[i].Driver(), lnd.Config{Net: rails[0].Net, Interface: "eth0"}); err != nil {
			c.t.Error(err)
		}
	})
}

// TestAgentsWithTwoNIs: servers and clients take part under the NIDs that are configured, whether these are
// the primary NIDs of the nodes or not, and whether keys sign the connects or not.
func TestAgentsWithTwoNIs(t *testing.T) {
	spec.Covers(t, "CH-75")
	key, err := keyring.NewKeys(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string]keyring.Keys{"unsigned": {}, "signed": key} {
		for rail := range rails {
			t.Run(fmt.Sprintf("%s, NI %d", name, rail), func(t *testing.T) {
				c := newRailed(t, 2, rail, keys)
				c.run(60 * time.Second)
				for i := servers; i < servers+2; i++ {
					c.wantAll(i, servers)
					if n := c.count(i, health.MasterChosen); n != 1 {
						t.Errorf("client %d has chosen a master %d times", i, n)
					}
				}
				for i := range c.tables {
					c.wantPrimary(i, onRail(i, 0))
				}
			})
		}
	}
}

// TestPrimaryNIDChanges: a client stays connected when an NI of its node, or of a server, is stopped and
// started again, although the node has another primary NID then.
func TestPrimaryNIDChanges(t *testing.T) {
	spec.Covers(t, "CH-75")
	for i := range servers + 1 {
		t.Run(fmt.Sprint("node ", i), func(t *testing.T) {
			c := newRailed(t, 1, 0, keyring.Keys{})
			c.run(30 * time.Second)
			c.wantAll(servers, servers)
			c.restartFirstNI(i)
			c.run(120 * time.Second)
			c.wantAll(servers, servers)
			c.wantPrimary(i, onRail(i, 1))
			if n := c.count(servers, health.Evicted); n > 0 {
				t.Errorf("evicted %d times", n)
			}
			for k, a := range c.agents[:servers] {
				if s := a.Stats(); s.Foreign > 0 {
					t.Errorf("server %d refused %d messages as those of another process", k, s.Foreign)
				}
			}
		})
	}
}
