package collective

import (
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
)

// Numbers of the nodes in the tests of two nodes that want one client id; the servers come
// first.
const (
	oldNode = watchers + iota
	newNode
	contestants
)

// contest is a cluster of servers and two nodes that use the same client id.
type contest struct {
	watched
	stacks [contestants]*lnetsim.Stack
	conns  [contestants]*health.Connection
	told   [contestants][]health.ClientEvent
	at     [contestants][]time.Duration // by node: times of the events in told
}

func newContest(t *testing.T) *contest {
	t.Helper()
	c := &contest{watched: watched{
		servers: &servers{t: t, nodes: make([]*server, watchers)},
		agents:  make([]*health.ServerAgent, watchers), gone: make(map[int]time.Duration),
	}}
	for i := range watchers {
		c.ids = append(c.ids, simlnd.NID(sim.NodeID(i)))
	}
	var err error
	c.fabric, err = simlnd.New(simlnd.Config{
		Nodes: contestants, Seed: 1, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: latency}}},
		Boot: func(h, kept *simlnd.Host) {
			if i := int(h.ID()); i < watchers {
				c.bootAll(h, kept)
			} else if c.stacks[i], err = lnetsim.NewStack(h, lnetsim.StackConfig{}); err != nil {
				t.Error(err)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.run(time.Second)
	return c
}

// dialAs makes a node dial with the client's id, in the given incarnation.
func (c *contest) dialAs(i int, incarnation uint64) {
	c.t.Helper()
	c.fabric.Do(sim.NodeID(i), func(*simlnd.Host) {
		var err error
		c.conns[i], err = health.Dial(c.stacks[i].Table, health.DialConfig{
			ID: health.ClientIDOf("contested"), Incarnation: incarnation, Servers: c.ids, Attach: c.ids,
			Notify: func(e health.ClientEvent) {
				c.told[i], c.at[i] = append(c.told[i], e), append(c.at[i], c.fabric.Now())
			},
		})
		if err != nil {
			c.t.Error(err)
		}
	})
}

// first returns the first event of a kind at a node, and its time.
func (c *contest) first(i int, kind health.ClientEventKind) (health.ClientEvent, time.Duration) {
	c.t.Helper()
	for k, e := range c.told[i] {
		if e.Kind == kind {
			return e, c.at[i][k]
		}
	}
	c.t.Fatalf("node %d was not told %v, but %v", i, kind, c.told[i])
	return health.ClientEvent{}, 0
}

// holds fails the test unless all servers have a connection of the client from node i.
func (c *contest) holds(i int) {
	c.t.Helper()
	st := c.conns[i].Status()
	if st.State != "settled" || len(st.Attached) != watchers {
		c.t.Fatalf("node %d: %+v", i, st)
	}
	for k, a := range c.agents {
		if info, ok := a.Client(st.Client); !ok || info.State != "connected" || info.Incarnation != st.Incarnation || info.Peer.NID != simlnd.NID(sim.NodeID(i)) {
			c.t.Fatalf("server %d has %+v", k, info)
		}
	}
}

// TestTakeover: CH-A1: a client is started on another node while the old process still runs. The
// servers ask the old process, which answers, and refuse the new one. When the old process can
// no longer answer, the servers accept the new one after T_evict. The old process learns that it
// is superseded and waits; its later attempts to connect have no effect.
func TestTakeover(t *testing.T) {
	spec.Covers(t, "CH-A1")
	c := newContest(t)
	const evict, ping, backoff = 17500 * time.Millisecond, 5 * time.Second, 10 * time.Second // the defaults of T_evict, T_ping and the back-off
	begin := c.stacks[oldNode].Table.Node().Incarnation()
	c.dialAs(oldNode, begin)
	c.run(10 * time.Second)
	c.holds(oldNode)
	before := len(c.told[oldNode])

	c.dialAs(newNode, begin+uint64(time.Second))
	c.run(2 * time.Minute)
	c.holds(oldNode)
	st := c.conns[newNode].Status()
	if st.State != "electing" || len(st.Answers) == 0 || len(c.told[oldNode]) != before {
		t.Errorf("the new one: %+v; the old one was told %v", st, c.told[oldNode][before:])
	}
	var asks, refuted, foreign uint64
	for _, a := range c.agents {
		s := a.Stats()
		asks, refuted, foreign = asks+s.Asks, refuted+s.Refuted, foreign+s.Rejected[health.Foreign]
	}
	if asks == 0 || refuted != foreign || foreign < watchers {
		t.Errorf("%d asked, %d refuted, %d refused", asks, refuted, foreign)
	}

	c.fabric.Cut(sim.Nodes(oldNode), sim.AllNodes)
	c.fabric.Cut(sim.AllNodes, sim.Nodes(oldNode))
	cut := c.fabric.Now()
	for c.conns[newNode].Status().State != "settled" && c.fabric.Now() < cut+time.Minute {
		c.run(time.Second)
	}
	c.fabric.Heal() // the old process still looks for a master, and asks servers to which it was connected
	c.run(2 * backoff)
	c.holds(newNode)
	if _, at := c.first(newNode, health.MasterChosen); at-cut < evict-ping || at-cut > evict+2*backoff {
		t.Errorf("taken %v after the old one was last heard", at-cut)
	}
	if e, _ := c.first(oldNode, health.Superseded); e.Code != health.Stale || e.Peer != simlnd.NID(newNode) {
		t.Errorf("the old one is told %+v", e)
	}
	after := len(c.told[newNode])
	c.run(40 * time.Minute) // the old process tries again at least twice in this time
	c.holds(newNode)
	if st := c.conns[oldNode].Status(); st.State != "resting" || st.Superseded == nil || st.Superseded.Peer != simlnd.NID(newNode) || len(c.told[newNode]) != after {
		t.Errorf("the old one: %+v, %+v; the new one was told %v", st, st.Superseded, c.told[newNode][after:])
	}
}
