package node

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/gossip"
	"ulnet/gossip/zone"
	"ulnet/health"
	healthwire "ulnet/health/wire"
	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// TestSlowHandler: on a node with gossip, zone and client health, a handler takes ten seconds,
// three times as long as a node may be silent. While it runs, all other nodes send to the handler's
// portal. No node is reported as dead, because urgent messages use a connection that is still
// read.
func TestSlowHandler(t *testing.T) {
	for name, tt := range map[string]struct {
		options     portals.MDOption
		size, count int
	}{
		"much bulk":                             {size: 2 << 10, count: 2 * portals.MaxPending},
		"much bulk, and the handler may block":  {options: portals.MayBlock, size: 2 << 10, count: 2 * portals.MaxPending},
		"many small messages":                   {size: 8, count: 2 * portals.MaxPending},
		"many small, and the handler may block": {options: portals.MayBlock, size: 8, count: 2 * portals.MaxPending},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newSlowCluster(t, 4, overTCP())
				defer c.stop()
				time.Sleep(30 * time.Second) // virtual time, in which all nodes get to know each other
				c.watch()
				handled := c.slow(0, tt.options, tt.size, 10*time.Second)
				for i := range c.tables[1:] {
					c.flood(1+i, 0, tt.size, tt.count)
				}
				time.Sleep(9 * time.Second)
				if n := handled.Load(); n != 1 {
					t.Fatalf("%d events handled, want 1", n)
				}
				time.Sleep(20 * time.Second)
				if n, want := handled.Load(), int64(3*tt.count); n != want {
					t.Errorf("%d events handled, want %d", n, want)
				}
				if drops := c.tables[0].Node().Stats().DropReasons; len(drops) > 0 {
					t.Errorf("dropped: %v", drops)
				}
			})
		})
	}
}

// TestLazyPortal: like TestSlowHandler, but messages go to a lazy portal that has no match entry
// for ten seconds.
func TestLazyPortal(t *testing.T) {
	for _, size := range []int{8, 2 << 10} {
		t.Run(fmt.Sprint(size, " bytes"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const count = 100
				c := newSlowCluster(t, 4, overTCP())
				defer c.stop()
				time.Sleep(30 * time.Second)
				c.watch()
				c.must(c.tables[0].SetLazy(40))
				for i := range c.tables[1:] {
					c.flood(1+i, 0, size, count)
				}
				time.Sleep(10 * time.Second)
				handled := c.slow(0, 0, size, 0)
				time.Sleep(20 * time.Second)
				if n := handled.Load(); n != 3*count {
					t.Errorf("%d events handled, want %d", n, 3*count)
				}
			})
		})
	}
}

// slowCluster is a set of nodes that take part in gossip and in a zone. The first one is a
// server of client health, and the second one its client.
type slowCluster struct {
	t        *testing.T
	ids      []nid.NID
	tables   []*portals.Table
	gossips  []*gossip.Agent
	zones    []*zone.Agent
	server   *health.ServerAgent
	client   *health.Connection
	watching atomic.Bool
}

// slowNet is the kind of network that a slowCluster uses, and what makes the drivers of its nodes.
type slowNet struct {
	kind   string
	driver func() (lnd.Driver, error)
}

// overTCP returns a network in memory for TCP.
func overTCP() slowNet {
	var network memoryNet
	return slowNet{"tcp", func() (lnd.Driver, error) { return network.driver() }}
}

func newSlowCluster(t *testing.T, n int, network slowNet) *slowCluster {
	c := &slowCluster{t: t}
	for i := range n {
		c.ids = append(c.ids, nid.MustParse(fmt.Sprintf("10.0.0.%d@%s", i+1, network.kind)))
	}
	var members []zone.ID
	for i, id := range c.ids {
		table := portals.New(lnet.New(lnet.Config{Incarnation: uint64(time.Now().UnixNano()), Clock: machine.RealClock()}))
		driver, err := network.driver()
		c.must(err)
		_, err = table.Node().AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()})
		c.must(err)
		_, err = discovery.NewTarget(table)
		c.must(err)
		_, err = table.Node().AddNI(driver, lnd.Config{Net: id.Net(), Interface: id.String()[:len("10.0.0.1")]})
		c.must(err)
		c.tables = append(c.tables, table)
		member, err := zone.NewID(fmt.Sprint("n", i), id)
		c.must(err)
		members = append(members, member)
	}
	for i, table := range c.tables {
		g, err := gossip.New(table, gossip.Config{Participants: c.ids, Interval: 200 * time.Millisecond, ColdStart: true})
		c.must(err)
		c.gossips = append(c.gossips, g)
		z, err := zone.New(table, zone.Config{Zone: "z", Self: members[i], Bootstrap: members[:1]})
		c.must(err)
		c.must(z.Join(table.Node().Incarnation()))
		c.zones = append(c.zones, z)
	}
	c.health()
	return c
}

func (c *slowCluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// health starts the health agents of the server and the client.
func (c *slowCluster) health() {
	timing := health.Timing{Ping: time.Second}
	var err error
	c.server, err = health.StartServer(c.tables[0], health.AgentConfig{
		Timing: timing, Servers: c.ids[:1], View: onlyServer{c.ids[0]}, Broadcaster: onlyServer{},
		Notify: func(e health.Event) {
			if c.watching.Load() {
				c.t.Errorf("client health: %+v", e)
			}
		},
	})
	c.must(err)
	c.client, err = health.Dial(c.tables[1], health.DialConfig{
		Timing: timing, Servers: c.ids[:1],
		Notify: func(e health.ClientEvent) {
			if c.watching.Load() {
				c.t.Errorf("the client: %+v", e)
			}
		},
	})
	c.must(err)
}

// onlyServer is the view of a server that is alone in its cluster: there are no others.
type onlyServer struct{ id nid.NID }

func (s onlyServer) Alive(id nid.NID) (bool, uint64)            { return id == s.id, 0 }
func (s onlyServer) Counts() (alive, known int)                 { return 1, 1 }
func (s onlyServer) Quorum() bool                               { return true }
func (s onlyServer) Watch(f func(nid.NID, bool, uint64)) func() { f(s.id, true, 0); return func() {} }
func (s onlyServer) Serve(func(nid.NID, []byte, func([]byte)))  {}
func (s onlyServer) Broadcast(_ []byte, done func(health.Outcome)) {
	done(health.Outcome{Reply: (&healthwire.Reply{}).AppendTo(nil)})
}

// watch makes the test fail if any node is reported as dead from now on.
func (c *slowCluster) watch() {
	c.t.Helper()
	for i := range c.tables {
		if n := len(c.zones[i].Members()); n != len(c.ids) {
			c.t.Fatalf("node %d: %d members of the zone", i, n)
		}
		c.gossips[i].Watch(func(id nid.NID, alive bool, _ uint64) {
			if !alive {
				c.t.Errorf("gossip at node %d: %v is dead", i, id)
			}
		})
		c.zones[i].Watch(func(e zone.Event) {
			if e.Kind == zone.Left {
				c.t.Errorf("zone at node %d: %v has left, %v", i, e.ID, e.Cause)
			}
		})
	}
	if master := c.client.Status().Master; master != c.ids[0] {
		c.t.Fatalf("the client's master is %v", master)
	}
	c.watching.Store(true)
}

// slow attaches an MD at portal 40 of node i, for messages of up to size bytes. Its handler takes the time d
// for the first event, and no time for later ones. slow returns the number of events so far.
func (c *slowCluster) slow(i int, options portals.MDOption, size int, d time.Duration) *atomic.Int64 {
	handled := new(atomic.Int64)
	me, err := c.tables[i].MEAttach(40, portals.Match{}, portals.Unlink, portals.After)
	c.must(err)
	_, err = c.tables[i].MDAttach(me, portals.MD{
		Segments: []portals.Segment{make([]byte, len(c.ids)*size)}, Threshold: portals.ThresholdInfinite,
		Options: portals.OpPut | portals.ManageRemote | options,
		Handler: func(*portals.Event) {
			if handled.Add(1) == 1 {
				time.Sleep(d)
			}
		},
	}, portals.Unlink)
	c.must(err)
	return handled
}

// flood makes node i send count messages to node to, to an offset that no other node uses.
func (c *slowCluster) flood(i, to, size, count int) {
	md, err := c.tables[i].MDBind(portals.MD{Segments: []portals.Segment{make([]byte, size)}, Threshold: count}, portals.Unlink)
	c.must(err)
	for range count {
		c.must(c.tables[i].Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: c.ids[to]}, Portal: 40, Offset: uint32(i * size)}))
	}
}

func (c *slowCluster) stop() {
	c.watching.Store(false)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.client.Close(ctx)
	_ = c.server.Close(ctx)
	for i, table := range c.tables {
		_ = c.zones[i].Close(c.t.Context())
		_ = c.gossips[i].Close(c.t.Context())
		_ = table.Node().Shutdown(ctx)
		table.Close()
	}
}
