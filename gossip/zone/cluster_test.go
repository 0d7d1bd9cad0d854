package zone_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/lo"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// cluster has agents on simulated hosts.
type cluster struct {
	t      testing.TB
	fabric *simlnd.Fabric
	change func(i int, c *zone.Config)
	number func(h *simlnd.Host) uint64                                 // returns the number of an incarnation; nil: the host's number
	spy    func(m *lnd.Message)                                        // gets each message that a driver is to send; nil: nothing does
	keep   func(i int, m *lnd.Message, ni lnd.NI, up lnd.Upcalls) bool // see spied
	lean   bool                                                        // listeners remember only the number of members
	sizes  []int                                                       // for each listener: number of members according to its events
	agents []*zone.Agent
	tables []*portals.Table
	views  []map[zone.ID]zone.Version // for each listener: the members according to its events
	events [][]zone.Event
	at     [][]time.Duration
}

func agentID(i int) zone.ID {
	id, err := zone.NewID(fmt.Sprintf("n%d", i), simlnd.NID(sim.NodeID(i)))
	if err != nil {
		panic(err)
	}
	return id
}

func newCluster(t testing.TB, n int, change func(i int, c *zone.Config)) *cluster {
	t.Helper()
	c := &cluster{
		t: t, change: change, agents: make([]*zone.Agent, n), tables: make([]*portals.Table, n), views: make([]map[zone.ID]zone.Version, n),
		events: make([][]zone.Event, n), at: make([][]time.Duration, n), sizes: make([]int, n),
	}
	var err error
	c.fabric, err = simlnd.New(simlnd.Config{
		Nodes: n, Seed: 1, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: time.Millisecond}}}, Boot: c.boot,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) boot(h, _ *simlnd.Host) {
	number := h.LNetIncarnation()
	if c.number != nil {
		number = c.number(h)
	}
	node := lnet.New(lnet.Config{Incarnation: number, Clock: h.Clock()})
	table := portals.New(node)
	spy := spied{Driver: h.Driver(), spy: c.spy}
	if c.keep != nil {
		spy.keep = func(m *lnd.Message, ni lnd.NI, up lnd.Upcalls) bool { return c.keep(int(h.ID()), m, ni, up) }
	}
	for _, d := range []lnd.Driver{lo.Driver{}, spy} {
		if _, err := node.AddNI(d, lnd.Config{Net: nid.MakeNet(d.Type(), 0)}); err != nil {
			c.t.Error(err)
			return
		}
	}
	if _, err := discovery.NewTarget(table); err != nil {
		c.t.Error(err)
		return
	}
	i := int(h.ID())
	a, err := zone.New(table, c.config(i))
	if err != nil {
		c.t.Error(err)
		return
	}
	c.agents[i], c.tables[i], c.views[i], c.sizes[i] = a, table, make(map[zone.ID]zone.Version), 0
	a.Watch(func(e zone.Event) { c.told(i, e) })
	if err := a.Join(0); err != nil {
		c.t.Error(err)
	}
}

// config returns the configuration of a node's agent.
func (c *cluster) config(i int) zone.Config {
	cfg := zone.Config{
		Zone: "test", Self: agentID(i), Bootstrap: []zone.ID{agentID(0), agentID(1)}, Seed: uint64(i) + 1,
	}
	if c.change != nil {
		c.change(i, &cfg)
	}
	return cfg
}

// told applies an event to the view of a listener, and checks that the event is possible
// (MS-9).
func (c *cluster) told(i int, e zone.Event) {
	if c.lean {
		switch e.Kind {
		case zone.Joined:
			c.sizes[i]++
		case zone.Left:
			c.sizes[i]--
		}
		return
	}
	switch was, here := c.views[i][e.ID]; {
	case e.Kind == zone.Joined && here:
		c.t.Errorf("MS-9: node %d: %v joins, but is there as %v", i, e.ID, was)
	case e.Kind == zone.Joined:
		c.views[i][e.ID] = e.Version
	case e.Kind == zone.Left && was != e.Version:
		c.t.Errorf("MS-9: node %d: %v leaves as %v, but is there as %v", i, e.ID, e.Version, was)
	case e.Kind == zone.Left:
		delete(c.views[i], e.ID)
	}
	c.events[i], c.at[i] = append(c.events[i], e), append(c.at[i], c.fabric.Now())
}

func (c *cluster) run(d time.Duration) {
	c.t.Helper()
	if err := c.fabric.Run(c.fabric.Now() + d); err != nil {
		c.t.Fatal(err)
	}
}

// until lets time pass until a condition holds, and returns how long that took.
func (c *cluster) until(most time.Duration, ok func() bool) time.Duration {
	c.t.Helper()
	begin := c.fabric.Now()
	for !ok() {
		if c.fabric.Now()-begin > most {
			c.t.Fatalf("not so after %v", most)
		}
		c.run(10 * time.Millisecond)
	}
	return c.fabric.Now() - begin
}

// all reports whether all nodes except but have the given number of members, and whether their listeners know
// as many.
func (c *cluster) all(members int, but ...int) bool {
	for i, a := range c.agents {
		if slices.Contains(but, i) {
			continue
		}
		if a == nil || len(a.Members()) != members || len(c.views[i]) != members-1 {
			return false
		}
	}
	return true
}

// do calls f with the agent of a node, on the node's host.
func (c *cluster) do(i int, f func(a *zone.Agent)) {
	c.fabric.Do(sim.NodeID(i), func(*simlnd.Host) { f(c.agents[i]) })
}
