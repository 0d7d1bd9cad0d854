package dissection

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/health/collective"
	healthwire "ulnet/health/wire"
	"ulnet/lnd"
	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
	"ulnet/scoll"
)

const (
	healthServers = 3
	healthNodes   = healthServers + 1
)

// healthTimes have frequent pings. A silence of some seconds has no consequences, because the machine
// may be busy.
var healthTimes = health.Timing{
	Ping: 500 * time.Millisecond, Client: 20 * time.Second, Elect: 10 * time.Second, Evict: time.Minute, Orphan: time.Minute,
	Try: 100 * time.Millisecond,
}

// allAlive is a View in which all of these servers are alive.
type allAlive []nid.NID

func (allAlive) Alive(nid.NID) (bool, uint64) { return true, 0 }
func (a allAlive) Counts() (alive, known int) { return len(a), len(a) }
func (allAlive) Quorum() bool                 { return true }

func (a allAlive) Watch(f func(nid.NID, bool, uint64)) func() {
	for _, id := range a {
		f(id, true, 0)
	}
	return func() {}
}

// healthCluster has servers and a client over loopback.
type healthCluster struct {
	t      *testing.T
	nodes  []*node.Node
	tables []*portals.Table
	ids    []nid.NID
	agents []*health.ServerAgent
	client *health.Connection
	scolls []*scoll.Agent

	mu     sync.Mutex
	events []health.ClientEvent // events of the client; guarded by mu
}

// healthExchange records a client that connects to three servers, pings its master, is evicted
// by command, connects again and leaves.
func healthExchange(t *testing.T) []byte {
	var out bytes.Buffer
	tap, err := capture.NewWriter(&out, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	c := &healthCluster{t: t}
	c.startNodes(tap)
	for i := range healthServers {
		c.startServer(i)
	}
	c.client, err = health.Dial(c.tables[healthServers], health.DialConfig{
		Name: "compute-17", Servers: c.ids[:healthServers], Timing: healthTimes,
		Attach: c.ids[:healthServers], Clock: machine.RealClock(), Notify: c.notify,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.until("all connections", func() bool { return len(c.client.Status().Attached) == healthServers })
	c.until("a ping", func() bool { return c.client.Stats().Pings > 0 })
	c.evict()
	c.until("all connections of the next life", func() bool { return c.count(health.Attached) >= 2*healthServers })
	if err := c.client.Close(t.Context()); err != nil {
		t.Error(err)
	}
	c.until("an end of all", func() bool {
		left := 0
		for _, a := range c.agents {
			left += a.Status().Clients
		}
		return left == 0
	})
	c.stop()
	if err := tap.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (c *healthCluster) startNodes(tap lnd.Tap) {
	tcp := nid.MakeNet(nid.TCP, 0)
	var addrs []netip.Addr
	for i := range healthNodes {
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, 0, byte(31 + i)}))
	}
	port, err := loopback.FreePort(addrs...)
	if err != nil {
		c.t.Fatal(err)
	}
	for i, addr := range addrs {
		n, err := node.Start(node.Config{
			Networks: "tcp(" + addr.String() + ")", AcceptPort: port, Tap: tap, LNet: lnet.Config{Incarnation: uint64(1000 + i)},
			Discovery: discovery.Config{Off: true}, // discovery is off, so that the capture has no pings
		})
		if err != nil {
			c.t.Fatal(err)
		}
		c.nodes, c.tables, c.ids = append(c.nodes, n), append(c.tables, n.Table()), append(c.ids, nid.FromAddr(tcp, addr))
	}
}

func (c *healthCluster) startServer(i int) {
	cfg := scoll.Config{Clock: machine.RealClock()}
	cfg.RTT, cfg.Guard = 500*time.Millisecond, 400*time.Millisecond // long, so that nothing times out on a busy machine
	agent, err := scoll.New(c.tables[i], cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	servers := c.ids[:healthServers]
	all, err := collective.New(collective.Config{Agent: agent, Servers: servers, Clock: machine.RealClock()})
	if err != nil {
		c.t.Fatal(err)
	}
	a, err := health.StartServer(c.tables[i], health.AgentConfig{
		Servers: servers, Timing: healthTimes,
		View: allAlive(servers), Broadcaster: all, Clock: machine.RealClock(),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.agents, c.scolls = append(c.agents, a), append(c.scolls, agent)
}

func (c *healthCluster) notify(e health.ClientEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
}

// count returns the number of events of a kind at the client.
func (c *healthCluster) count(kind health.ClientEventKind) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// evict orders the eviction of the client from its master.
func (c *healthCluster) evict() {
	s := c.client.Status()
	for i, id := range c.ids[:healthServers] {
		if id != s.Master {
			continue
		}
		result := make(chan healthwire.Code, 1)
		c.agents[i].Evict(s.Client, func(r health.EvictResult) { result <- r.Code })
		if code := <-result; code != healthwire.OK {
			c.t.Fatalf("not evicted: %v", code)
		}
	}
}

func (c *healthCluster) until(what string, holds func() bool) {
	c.t.Helper()
	tick, deadline := time.NewTicker(2*time.Millisecond), time.After(60*time.Second)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			c.t.Fatalf("no %s: %+v, %+v", what, c.client.Status(), c.client.Stats())
		}
	}
}

func (c *healthCluster) stop() {
	for i := range c.agents {
		if err := errors.Join(c.agents[i].Close(c.t.Context()), c.scolls[i].Close(c.t.Context())); err != nil {
			c.t.Error(err)
		}
	}
	for _, n := range c.nodes {
		ctx, cancel := context.WithTimeout(c.t.Context(), 60*time.Second)
		if err := n.Close(ctx); err != nil {
			c.t.Error(err)
		}
		cancel()
	}
}
