package gossip_test

import (
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/nid"
)

// cluster has an agent on each of its simulated hosts.
type cluster struct {
	t      *testing.T
	fabric *simlnd.Fabric
	ids    []nid.NID
	agents []*gossip.Agent
	log    []change
}

// change is one call of the function that a node has given to Watch.
type change struct {
	at       time.Duration
	node     sim.NodeID
	nid      nid.NID
	alive    bool
	lifetime uint64
}

func newCluster(t *testing.T, n int, topology sim.Topology) *cluster {
	t.Helper()
	c := &cluster{t: t, agents: make([]*gossip.Agent, n)}
	for i := range n {
		c.ids = append(c.ids, simlnd.NID(sim.NodeID(i)))
	}
	var err error
	c.fabric, err = simlnd.New(simlnd.Config{Nodes: n, Seed: 1, Topology: topology, Boot: c.boot})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) boot(h, _ *simlnd.Host) {
	node, err := lnetsim.NewStack(h, lnetsim.StackConfig{})
	if err != nil {
		c.t.Error(err)
		return
	}
	a, err := gossip.New(node.Table, gossip.Config{
		Participants: c.ids, Interval: 200 * time.Millisecond, Seed: h.Incarnation().Seed, ColdStart: h.Incarnation().Number == 0,
	})
	if err != nil {
		c.t.Error(err)
		return
	}
	c.agents[h.ID()] = a
	a.Watch(func(id nid.NID, alive bool, aliveness uint64) {
		c.log = append(c.log, change{c.fabric.Now(), h.ID(), id, alive, aliveness})
	})
}

func (c *cluster) run(until time.Duration) {
	c.t.Helper()
	if err := c.fabric.Run(until); err != nil {
		c.t.Fatal(err)
	}
}

// TestAgents: agents on whole stacks notice a death and a return.
func TestAgents(t *testing.T) {
	const n = 24
	c := newCluster(t, n, &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: time.Millisecond}}})
	c.run(4 * time.Second)
	for i, a := range c.agents {
		if alive, known := a.Counts(); alive != n || known != n || !a.Quorum() {
			t.Fatalf("node %d: %d of %d alive, quorum %v", i, alive, known, a.Quorum())
		}
	}
	c.log = nil
	c.fabric.Kill(5)
	c.run(10 * time.Second)
	deaths := 0
	for _, ch := range c.log {
		if ch.alive || ch.nid != simlnd.NID(5) || ch.lifetime != 1 {
			t.Errorf("told %+v", ch)
		}
		deaths++
	}
	if deaths != n-1 {
		t.Errorf("%d of %d nodes were told of the death", deaths, n-1)
	}
	c.log = nil
	c.fabric.Start(5, false)
	c.run(20 * time.Second)
	for i, a := range c.agents {
		if alive, died := a.Alive(simlnd.NID(5)); !alive || i != 5 && died != 1 {
			t.Errorf("node %d: alive %v, died %d times", i, alive, died)
		}
	}
}
