package health_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
)

const servers = 3

// cluster has agents on simulated hosts: servers first, then clients. The test controls discovery
// and collectives.
type cluster struct {
	t       *testing.T
	fabric  *simlnd.Fabric
	ids     []nid.NID
	hosts   []*simlnd.Host
	agents  []*health.ServerAgent
	answers []func(nid.NID, []byte, func([]byte))
	views   []*view
	stores  []*store
	conns   []*health.Connection
	tables  []*portals.Table
	bare    []bool                // by host: if set, the host has no client after its next starts
	ping    map[int]time.Duration // by host: T_ping of clients that start from now on; a missing host has the default
	keys    map[int]keyring.Keys  // by host: keys of agents that start from now on
	events  [][]health.Event
	told    [][]health.ClientEvent
	log     bytes.Buffer // log of all servers

	interfaces []lnetsim.Interface // if there are any, hosts have these NIs, and discovery
	rail       int                 // index in interfaces of the NI whose NIDs servers and clients use
}

func newCluster(t *testing.T, clients int) *cluster {
	t.Helper()
	n := servers + clients
	c := &cluster{
		t: t, hosts: make([]*simlnd.Host, n), agents: make([]*health.ServerAgent, n), conns: make([]*health.Connection, n),
		answers: make([]func(nid.NID, []byte, func([]byte)), n), events: make([][]health.Event, n), told: make([][]health.ClientEvent, n),
		tables: make([]*portals.Table, n), bare: make([]bool, n),
	}
	for i := range servers {
		c.ids = append(c.ids, simlnd.NID(sim.NodeID(i)))
		c.views = append(c.views, &view{c: c, incarnations: make([]uint64, servers), alive: slices.Repeat([]bool{true}, servers)})
		c.stores = append(c.stores, &store{records: make(map[health.ClientID]health.Record), tombstones: make(map[health.ClientID]health.Tombstone)})
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

// boot starts the stack of a host. The wall clock of a server follows the simulated time.
func (c *cluster) boot(h, _ *simlnd.Host) {
	node, err := lnetsim.NewStack(h, lnetsim.StackConfig{Discovery: c.interfaces != nil, Interfaces: c.interfaces})
	if err != nil {
		c.t.Error(err)
		return
	}
	table := node.Table
	i := int(h.ID())
	self := c.self(h)
	c.hosts[i], c.tables[i] = h, table
	if i < servers {
		c.agents[i], err = health.StartServer(table, health.AgentConfig{
			Self: self, Servers: c.ids, Keys: c.keys[i], View: c.views[i], Broadcaster: broadcaster{c, i}, Store: c.stores[i],
			Wall:   c.wall,
			Export: func(health.ClientID, uint64) []byte { return []byte("export") },
			Notify: func(e health.Event) { c.events[i] = append(c.events[i], e) },
			Log:    slog.New(slog.NewTextHandler(&c.log, nil)),
		})
	} else if !c.bare[i] {
		c.conns[i], err = health.Dial(table, health.DialConfig{
			Self: self, Name: "client", Servers: c.ids, Timing: health.Timing{Ping: c.ping[i]}, Keys: c.keys[i], Attach: c.ids,
			Notify: func(e health.ClientEvent) { c.told[i] = append(c.told[i], e) },
		})
	}
	if err != nil {
		c.t.Error(err)
	}
}

// self returns the NID of a host that takes part; the zero value if the host has one NI.
func (c *cluster) self(h *simlnd.Host) (id nid.NID) {
	if c.interfaces != nil {
		at := c.interfaces[c.rail]
		id = simlnd.NIDOn(at.Net, h.ID(), at.Rail)
	}
	return id
}

// wall returns the simulated time as a time of the wall clock, which servers use.
func (c *cluster) wall() time.Time { return time.Unix(1e9, 0).Add(c.fabric.Now()) }

func (c *cluster) run(d time.Duration) {
	c.t.Helper()
	if err := c.fabric.Run(c.fabric.Now() + d); err != nil {
		c.t.Fatal(err)
	}
}

// discover tells all live servers that server i is dead, or alive again.
func (c *cluster) discover(i int, alive bool) {
	for k, v := range c.views {
		if v.alive[i] = alive; !alive {
			v.incarnations[i]++
		}
		if k != i && v.f != nil {
			c.hosts[k].Do(func() { v.f(c.ids[i], alive, v.incarnations[i]) })
		}
	}
}

// count returns how many events of a kind client i has reported to its program.
func (c *cluster) count(i int, k health.ClientEventKind) (n int) {
	for _, e := range c.told[i] {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// wantAll fails unless client i is connected to n servers, and all of these agree on its
// master.
func (c *cluster) wantAll(i, n int) {
	c.t.Helper()
	st := c.conns[i].Status()
	if len(st.Attached) != n || st.State != "settled" {
		c.t.Fatalf("client %d: %+v", i, st)
	}
	for _, id := range st.Attached {
		info, ok := c.agents[slices.Index(c.ids, id)].Client(st.Client)
		if !ok || info.Master != st.Master || info.Incarnation != st.Incarnation || info.State != "connected" || info.Name != "client" {
			c.t.Fatalf("client %d is %+v, at %v %+v", i, st, id, info)
		}
	}
}

// TestAgents: CH-1, CH-4, CH-10, CH-17, CH-51, CH-61, CH-66: servers as whole stacks get
// clients, lose one, and evict another by hand. A client loses its master and finds a new one,
// and the old master comes back.
func TestAgents(t *testing.T) {
	spec.Covers(t, "CH-1", "CH-4", "CH-10", "CH-17", "CH-51", "CH-61", "CH-66")
	const clients = 6
	c := newCluster(t, clients)
	c.run(4 * time.Second)
	last := servers + clients - 1
	for i := servers; i <= last; i++ {
		c.wantAll(i, servers)
	}
	c.wantRecords(t)
	c.loseClient(t, last)
	c.loseMaster(t, last)
	c.changeList(last)
	c.evictByHand(t)
	c.leaveOne(t)
	for i, a := range c.agents[:servers] {
		for range 2 { // closing a second time changes nothing
			c.hosts[i].Do(func() {
				if err := a.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// wantRecords checks that each record in the servers' stores has the export data, the name and the
// process of its client.
func (c *cluster) wantRecords(t *testing.T) {
	t.Helper()
	for i, s := range c.stores {
		for id, r := range s.records {
			if string(r.Export) != "export" || r.Name != "client" || !r.Peer.IsValid() {
				t.Errorf("server %d remembers %v as %+v", i, id, r)
			}
		}
	}
}

// loseClient kills a client, and checks that all servers have evicted it after 20 s.
func (c *cluster) loseClient(t *testing.T, last int) {
	t.Helper()
	left := last - servers
	dead := c.conns[last].Status().Client
	c.fabric.Kill(sim.NodeID(last))
	c.run(20 * time.Second)
	for i, a := range c.agents[:servers] {
		if info, ok := a.Client(dead); ok {
			t.Errorf("server %d holds the dead client: %+v", i, info)
		}
		if len(c.stores[i].records) != left || len(c.stores[i].tombstones) != 1 {
			t.Errorf("server %d remembers %d clients and %d graves", i, len(c.stores[i].records), len(c.stores[i].tombstones))
		}
	}
}

// loseMaster kills a server, checks that its clients find another master, and starts it again. No
// client is evicted. The client with index last is dead.
func (c *cluster) loseMaster(t *testing.T, last int) {
	t.Helper()
	c.fabric.Kill(0)
	c.run(3 * time.Second)
	c.discover(0, false)
	c.run(12 * time.Second)
	for i := servers; i < last; i++ {
		if st := c.conns[i].Status(); st.Master == c.ids[0] || st.State != "settled" {
			t.Errorf("client %d: %+v", i, st)
		}
	}
	c.agents[0] = nil
	c.fabric.Start(0, false)
	c.discover(0, true)
	c.run(40 * time.Second)
	for i := servers; i < last; i++ {
		c.wantAll(i, servers)
		if c.count(i, health.Evicted) != 0 {
			t.Errorf("client %d was evicted: %+v", i, c.told[i])
		}
	}
}

// changeList removes a server from the list that the other servers have, and adds it again. In the
// end, each client but the last one must be connected to all servers.
func (c *cluster) changeList(last int) {
	for _, list := range [][]nid.NID{c.ids[:2], c.ids} {
		for k, a := range c.agents[:2] {
			c.hosts[k].Do(func() { a.SetServers(list) })
		}
		c.run(20 * time.Second)
	}
	for i := servers; i < last; i++ {
		c.wantAll(i, servers)
	}
}

// evictByHand evicts a client, which connects again as another incarnation.
func (c *cluster) evictByHand(t *testing.T) {
	t.Helper()
	victim := c.conns[servers].Status()
	code, master := health.Code(99), nid.NID{}
	a := c.agents[slices.Index(c.ids, victim.Master)]
	a.Evict(health.ClientIDOf("nobody"), func(r health.EvictResult) { code = r.Code })
	if code != health.NotConnected {
		t.Errorf("evicting nobody: %v", code)
	}
	c.hosts[slices.Index(c.ids, victim.Master)].Do(func() {
		a.Evict(victim.Client, func(r health.EvictResult) { code, master = r.Code, r.Master })
	})
	c.run(5 * time.Second)
	if code != health.OK || master != victim.Master || c.count(servers, health.Evicted) != 1 {
		t.Errorf("evicted with %v by %v; told %+v", code, master, c.told[servers])
	}
	c.wantAll(servers, servers)
	if st := c.conns[servers].Status(); st.Incarnation <= victim.Incarnation {
		t.Errorf("%+v after %+v", st, victim)
	}
}

// leaveOne closes a client's connection: the servers forget the client, and Connection.Wait
// returns ErrClosed.
func (c *cluster) leaveOne(t *testing.T) {
	t.Helper()
	id := c.conns[servers].Status().Client
	c.hangUp(servers)
	c.run(time.Second)
	for i, a := range c.agents[:servers] {
		if _, ok := a.Client(id); ok {
			t.Errorf("server %d holds a client that has left", i)
		}
	}
	if _, err := c.conns[servers].Wait(t.Context()); !errors.Is(err, health.ErrClosed) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := c.conns[servers+1].Wait(ctx); err != nil || !m.IsValid() {
		t.Error(m, err)
	}
}

// TestAgentStore: a server whose store cannot save refuses new connections and keeps the
// existing ones. A server whose store cannot be read does not start.
func TestAgentStore(t *testing.T) {
	c := newCluster(t, 2)
	c.run(4 * time.Second)
	for _, s := range c.stores {
		s.broken = errors.New("no space left on device")
	}
	c.fabric.Kill(4)
	c.run(25 * time.Second)
	c.wantAll(3, servers)
	c.fabric.Start(4, false)
	c.run(10 * time.Second)
	if st := c.conns[4].Status(); st.State != "electing" {
		t.Errorf("%+v", st)
	}
	refused := uint64(0)
	for _, a := range c.agents[:servers] {
		refused += a.Stats().Rejected[health.StoreFailed]
	}
	if lines := strings.Count(c.log.String(), "no space left on device"); refused < 10 || lines == 0 || lines > servers {
		t.Errorf("%d clients refused, %d lines say why", refused, lines)
	}
	table := portals.New(lnet.New(lnet.Config{}))
	if _, err := health.StartServer(table, health.AgentConfig{}); !errors.Is(err, health.ErrOutside) {
		t.Error(err)
	}
	if _, err := health.Dial(table, health.DialConfig{}); !errors.Is(err, portals.ErrNoLoopback) {
		t.Error(err)
	}
}

// TestRestoredTombstones: CH-65: restored tombstones expire in the order of their times,
// whatever the order in which the store returns them.
func TestRestoredTombstones(t *testing.T) {
	spec.Covers(t, "CH-65")
	c := newCluster(t, 0)
	c.run(time.Second)
	const tombstones, apart = 16, 10 * time.Second
	for i := range tombstones {
		id := health.ClientID{byte(tombstones - i)} // the tombstone with the highest id expires first
		c.stores[0].tombstones[id] = health.Tombstone{Client: id, Incarnation: 1, Until: c.wall().Add(time.Duration(i+1) * apart)}
	}
	// All other servers stay dead: when server 0 gets tombstones from another server it sorts its
	// own, which would hide a wrong order.
	for k := range c.stores {
		c.fabric.Kill(sim.NodeID(k))
	}
	c.fabric.Start(0, false)
	for left := tombstones; left >= 0; left-- {
		c.run(apart / 2)
		if n := c.agents[0].Status().Tombstones; n != left {
			t.Fatalf("%d tombstones, want %d", n, left)
		}
		c.run(apart / 2)
	}
}

// TestRestoredEpochs: CH-A13: a server has restarted with a tombstone in its store. It tells other servers the
// tombstone's epoch, which is the number of the client's choice of a master that the eviction ended, and they store the
// epoch with the tombstone.
func TestRestoredEpochs(t *testing.T) {
	spec.Covers(t, "CH-A13")
	c := newCluster(t, 0)
	c.run(time.Second)
	g := health.Tombstone{Client: health.ClientID{7}, Incarnation: 1, Epoch: 3, Until: c.wall().Add(5 * time.Minute)}
	c.stores[0].tombstones[g.Client] = g
	c.fabric.Kill(0)
	c.fabric.Start(0, false)
	for k := 1; k < len(c.stores); k++ {
		c.fabric.Kill(sim.NodeID(k))
		c.fabric.Start(sim.NodeID(k), false)
	}
	c.run(30 * time.Second)
	for k, s := range c.stores {
		if got := s.tombstones[g.Client]; got.Epoch != g.Epoch {
			t.Errorf("server %d has %+v", k, got)
		}
	}
}
