package zone_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/portals"
)

// cluster is agents on simulated hosts.
type cluster struct {
	t      *testing.T
	fabric *simlnd.Fabric
	change func(i int, c *zone.Config)
	agents []*zone.Agent
	views  []map[zone.ID]zone.Version // what a listener makes of the events
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

func newCluster(t *testing.T, n int, change func(i int, c *zone.Config)) *cluster {
	t.Helper()
	c := &cluster{
		t: t, change: change, agents: make([]*zone.Agent, n), views: make([]map[zone.ID]zone.Version, n),
		events: make([][]zone.Event, n), at: make([][]time.Duration, n),
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
	node := lnet.New(lnet.Config{Incarnation: h.Incarnation(), Clock: h.Clock()})
	table := portals.New(node)
	if _, err := node.AddNI(h.Driver(), lnd.Config{Net: simlnd.Net}); err != nil {
		c.t.Error(err)
		return
	}
	i := int(h.ID())
	cfg := zone.Config{Zone: "test", Self: agentID(i), Bootstrap: []zone.ID{agentID(0), agentID(1)}, Seed: h.Life().Seed}
	if c.change != nil {
		c.change(i, &cfg)
	}
	a, err := zone.Start(table, zone.AgentConfig{Config: cfg})
	if err != nil {
		c.t.Error(err)
		return
	}
	c.agents[i], c.views[i] = a, make(map[zone.ID]zone.Version)
	a.Watch(func(e zone.Event) { c.told(i, e) })
	if err := a.Join(0); err != nil {
		c.t.Error(err)
	}
}

// told plays an event into a view, and checks that it can be (MS-9).
func (c *cluster) told(i int, e zone.Event) {
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
	c.events[i], c.at[i] = append(c.events[i], e), append(c.at[i], time.Duration(c.fabric.Now()))
}

func (c *cluster) run(d time.Duration) {
	c.t.Helper()
	if err := c.fabric.Run(time.Duration(c.fabric.Now()) + d); err != nil {
		c.t.Fatal(err)
	}
}

// until lets time pass until something is so, and returns how long it took.
func (c *cluster) until(most time.Duration, ok func() bool) time.Duration {
	c.t.Helper()
	begin := time.Duration(c.fabric.Now())
	for !ok() {
		if time.Duration(c.fabric.Now())-begin > most {
			c.t.Fatalf("not so after %v", most)
		}
		c.run(10 * time.Millisecond)
	}
	return time.Duration(c.fabric.Now()) - begin
}

// all reports whether all nodes but some have so many members, and listeners know them.
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

// do has something done at a node.
func (c *cluster) do(i int, f func(a *zone.Agent)) {
	c.fabric.Do(sim.NodeID(i), func(*simlnd.Host) { f(c.agents[i]) })
}

// TestAgents: MS-9, MS-10, MS-40, MS-A14, MS-A30, MS-A33: whole stacks boot, see a
// death by its connections and a silent one by its heartbeats, a restart, a goodbye
// with its code, and who comes back in the same process.
func TestAgents(t *testing.T) {
	const n = 20
	c := newCluster(t, n, nil)
	c.until(20*time.Second, func() bool { return c.all(n) })
	c.run(20 * time.Second)
	for i := range n {
		for _, e := range c.events[i] {
			if e.Kind == zone.Left || e.Kind == zone.Suspected {
				t.Errorf("node %d: %+v", i, e)
			}
		}
	}

	c.fabric.Kill(5)
	took := c.until(20*time.Second, func() bool { return c.all(n-1, 5) })
	t.Logf("death: %v", took)
	for i := range n {
		if e := c.events[i][len(c.events[i])-1]; i != 5 && (e.Kind != zone.Left && e.Kind != zone.Suspected || e.ID != agentID(5)) {
			t.Errorf("node %d: %+v", i, e)
		}
	}
	c.fabric.Start(5, false)
	c.until(30*time.Second, func() bool { return c.all(n) })

	c.do(7, func(a *zone.Agent) {
		if err := a.Leave(-3); err != nil {
			t.Error(err)
		}
		if err := a.Leave(0); err != zone.ErrNotJoined {
			t.Error(err)
		}
	})
	c.until(5*time.Second, func() bool { return c.all(n-1, 7) })
	for i := range n {
		if e := c.events[i][len(c.events[i])-1]; i != 7 && (e.Cause != zone.Said || e.Code != -3) {
			t.Errorf("MS-40: node %d: %+v", i, e)
		}
	}
	if len(c.views[7]) != 0 {
		t.Errorf("who left has %d members", len(c.views[7]))
	}
	c.do(7, func(a *zone.Agent) {
		if err := a.Join(1); err != zone.ErrOldLife {
			t.Errorf("MS-A33: %v", err)
		}
		if err := a.Join(0); err != nil {
			t.Error(err)
		}
		if err := a.Join(0); err != zone.ErrJoined {
			t.Error(err)
		}
	})
	c.until(30*time.Second, func() bool { return c.all(n) })
}

// TestAgentAttributes: MS-70, MS-74, MS-85, MS-89: what a node writes comes to all,
// in the order in which it was written; a late listener is told of it, too.
func TestAgentAttributes(t *testing.T) {
	const n = 16
	c := newCluster(t, n, nil)
	c.until(20*time.Second, func() bool { return c.all(n) })
	for k := range 50 {
		c.do(3, func(a *zone.Agent) {
			if err := a.Set(fmt.Sprintf("key%d", k%5), fmt.Append(nil, k)); err != nil {
				t.Error(err)
			}
		})
		c.run(20 * time.Millisecond)
		for i, a := range c.agents {
			last := -1
			list, _ := a.Attributes(agentID(3))
			for _, at := range list {
				var v int
				if _, err := fmt.Sscan(string(at.Value), &v); err != nil || v <= last {
					t.Fatalf("MS-74: node %d: %v after %d: %v", i, at, last, err)
				}
				last = v
			}
		}
	}
	has := func(count int) func() bool {
		return func() bool {
			for _, a := range c.agents {
				if list, _ := a.Attributes(agentID(3)); len(list) != count {
					return false
				}
			}
			return true
		}
	}
	c.until(5*time.Second, has(5))
	c.do(3, func(a *zone.Agent) {
		if err := a.Delete("key0"); err != nil {
			t.Error(err)
		}
		if err := a.Set("", nil); err != zone.ErrKey {
			t.Error(err)
		}
	})
	c.until(5*time.Second, has(4))
	var late []zone.Event
	c.do(9, func(a *zone.Agent) { a.Watch(func(e zone.Event) { late = append(late, e) }) })
	c.run(time.Second)
	joined, attributes := 0, 0
	for _, e := range late {
		switch e.Kind {
		case zone.Joined:
			joined++
		case zone.AttributesChanged:
			attributes += len(e.Attributes)
		}
	}
	if joined != n-1 || attributes != 4 {
		t.Errorf("a late listener was told of %d nodes and %d attributes", joined, attributes)
	}
}

// TestAgentMonitor: MS-60, MS-A14, MS-A32: a monitor hears of a killed process long
// before a heartbeat would tell.
func TestAgentMonitor(t *testing.T) {
	const n = 16
	c := newCluster(t, n, nil)
	c.until(20*time.Second, func() bool { return c.all(n) })
	c.do(2, func(a *zone.Agent) {
		if err := a.Set(zone.MonitorKey, nil); err != nil {
			t.Error(err)
		}
	})
	c.until(10*time.Second, func() bool {
		for i, a := range c.agents {
			if i != 2 && a.Status().Monitors != 1 {
				return false
			}
		}
		return true
	})
	c.fabric.Kill(11)
	took := c.until(10*time.Second, func() bool { _, there := c.views[2][agentID(11)]; return !there })
	if took > 500*time.Millisecond {
		t.Errorf("MS-A14: a monitor heard of a death after %v", took)
	}
}

// TestAgentStop: a node that stops is dead to the others, and leaves no buffers.
func TestAgentStop(t *testing.T) {
	const n = 4
	c := newCluster(t, n, nil)
	c.until(20*time.Second, func() bool { return c.all(n) })
	told := 0
	c.do(1, func(a *zone.Agent) {
		a.Stop()
		a.Stop()
		told = len(c.events[1])
		if err := a.Set("key", nil); err == nil && a.Status().Stats.Sent[zone.AttributeDigest] > 0 {
			t.Error("it goes on")
		}
	})
	c.until(30*time.Second, func() bool { return c.all(n-1, 1) })
	if len(c.events[1]) != told {
		t.Error("it tells of more after its end")
	}
}

// TestAgentAllocations: an idle zone sends heartbeats alone, and a heartbeat
// allocates nothing on its way through both stacks: only timers do, one for each
// round of them.
func TestAgentAllocations(t *testing.T) {
	const n = 8
	c := newCluster(t, n, nil)
	c.until(20*time.Second, func() bool { return c.all(n) })
	c.run(30 * time.Second)
	before := make([]zone.Stats, n)
	for i, a := range c.agents {
		before[i] = a.Status().Stats
	}
	allocs := testing.AllocsPerRun(5, func() { c.run(10 * time.Second) })
	heartbeats := uint64(0)
	for i, a := range c.agents {
		after := a.Status().Stats
		heartbeats += after.Sent[zone.Heartbeat] - before[i].Sent[zone.Heartbeat]
		after.Sent[zone.Heartbeat] = before[i].Sent[zone.Heartbeat]
		if after.Sent[zone.DiscoveryRequest] == before[i].Sent[zone.DiscoveryRequest] && after.Sent != before[i].Sent {
			t.Errorf("node %d sends more than heartbeats: %v, before %v", i, after.Sent, before[i].Sent)
		}
	}
	const timers = 4 * 10 * n // in each sixth: some beats, and some timers of the simulated network
	if perRun := float64(heartbeats) / 6; perRun < 1.5*timers || !raceEnabled && allocs > timers {
		t.Errorf("%.0f heartbeats, %.0f allocations", perRun, allocs)
	}
	t.Logf("%d heartbeats, %.1f allocations in each sixth", heartbeats, allocs)
}
