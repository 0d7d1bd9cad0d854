package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"ulnet/health"
	healthwire "ulnet/health/wire"
	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/machine/timerfd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// inbound is an LNet driver without a network. It delivers messages as if clients had sent them.
// It counts the messages that the node sends, and drops them.
type inbound struct {
	up    lnd.Upcalls
	now   machine.Clock
	self  nid.NID
	conns []lnd.Delivery // indexed by client, because a driver has a delivery for each connection

	accepts, pongs, others atomic.Int64
}

// Type implements lnd.Driver.
func (*inbound) Type() nid.NetType { return nid.TCP }

// Startup implements lnd.Driver.
func (m *inbound) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	m.up, m.now, m.self = up, cfg.Clock, crowdServers[0]
	return m, nil
}

// NID implements lnd.NI.
func (m *inbound) NID() nid.NID { return m.self }

// Send implements lnd.NI. It completes the message at once.
func (m *inbound) Send(msg *lnd.Message) {
	const kindAt = 5 // offset of the kind in a message of client health
	switch p := msg.Payload; {
	case p.Length < healthwire.HeaderSize:
		m.others.Add(1)
	case healthwire.Kind(p.Segments[0][p.Offset+kindAt]) == healthwire.Pong:
		m.pongs.Add(1)
	case healthwire.Kind(p.Segments[0][p.Offset+kindAt]) == healthwire.Accept:
		m.accepts.Add(1)
	default:
		m.others.Add(1)
	}
	msg.SentAt = m.now.Now()
	m.up.Finalize(msg, nil)
}

// Recv implements lnd.NI. It is not called in a correct run, because portals always has buffers
// for the messages.
func (m *inbound) Recv(d *lnd.Delivery) { m.up.Delivered(d, errors.New("a message was held")) }

// Shutdown implements lnd.NI.
func (*inbound) Shutdown(context.Context) error { return nil }

// deliver delivers a PUT of client i to the portal at which servers receive.
func (m *inbound) deliver(i int, data []byte) error {
	d, from := &m.conns[i], crowdHost(i)
	d.From, d.ReceivedAt = from, m.now.Now()
	h := &d.Header
	h.SrcNID, h.SrcPID, h.DestNID, h.DestPID = from.NID, from.PID, m.self, nid.LustrePID
	h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: healthwire.Bits, Portal: healthwire.ServerPortal})
	h.PayloadLength = uint32(len(data))
	outcome, err := m.up.Parse(d)
	if err == nil && outcome != lnd.Accept {
		err = errors.New("the node has no room for a message")
	}
	if err != nil {
		return err
	}
	if n := d.Sink.CopyIn(data); n != len(data) {
		return fmt.Errorf("%d of %d bytes are wanted", n, len(data))
	}
	m.up.Delivered(d, nil)
	return nil
}

// single is what a server without other servers uses as its discovery service and for
// broadcasts.
type single struct{}

func (single) Alive(nid.NID) (alive bool, lifetime uint64) { return false, 0 }
func (single) Counts() (alive, known int)                  { return 1, 1 }
func (single) Quorum() bool                                { return true }
func (single) Watch(func(id nid.NID, alive bool, lifetime uint64)) (stop func()) {
	return func() {}
}

// Broadcast implements health.Broadcaster.
func (single) Broadcast(_ []byte, done func(health.Outcome)) {
	go done(health.Outcome{Reply: (&healthwire.Reply{}).AppendTo(nil)})
}

func (single) Serve(func(root nid.NID, request []byte, reply func([]byte))) {}

// crowdNode is a master with all layers that it has in a node: agent, portals and LNet.
type crowdNode struct {
	*inbound
	node    *lnet.Node
	agent   *health.ServerAgent
	clock   *timerfd.Clock // the same kind of clock as in lnetd
	ping    []byte
	evicted atomic.Int64
}

func newCrowdNode(conns []lnd.Delivery) *crowdNode {
	c := &crowdNode{inbound: &inbound{conns: conns}, ping: crowdPing(), clock: timerfd.NewClock()}
	c.node = lnet.New(lnet.Config{Incarnation: 1, Clock: c.clock})
	table := portals.New(c.node)
	must(c.node.AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}))
	must(discovery.NewTarget(table))
	must(c.node.AddNI(c.inbound, lnd.Config{Net: crowdNet}))
	c.agent = must(health.StartServer(table, health.AgentConfig{
		Servers: crowdServers[:1], View: single{}, Broadcaster: single{},
		Notify: func(e health.Event) {
			if e.Kind == health.ClientEvicted {
				c.evicted.Add(1)
			}
		},
	}))
	for i := range conns {
		succeed(c.deliver(i, crowdConnect(i, crowdServers[0])))
	}
	c.settle(&c.accepts, len(conns))
	return c
}

// settle waits until count is equal to want. The count can rise after the node has handled all arrivals, because
// the goroutine of the node's timers sends messages, too.
func (c *crowdNode) settle(count *atomic.Int64, want int) {
	for range 1000 {
		if int(count.Load()) == want {
			return
		}
		time.Sleep(time.Millisecond)
	}
	succeed(fmt.Errorf("%d answers to %d messages", count.Load(), want))
}

func (c *crowdNode) close(ctx context.Context) error {
	defer c.clock.Close()
	return errors.Join(c.agent.Close(ctx), c.node.Shutdown(ctx))
}

// pings delivers a ping of each client, one after another without pause.
func (c *crowdNode) pings(order []int) {
	for _, i := range order {
		id := crowdID(i)
		copy(c.ping[clientAt:], id[:])
		succeed(c.deliver(i, c.ping))
	}
}

// measureCrowdStack measures the same as measureCrowd, but with the agent, portals and LNet.
func measureCrowdStack(b *measurement, clients int) {
	timing := must(health.Timing{}.Filled())
	conns := make([]lnd.Delivery, clients)
	before := liveHeap()
	c := newCrowdNode(conns)
	perClient := float64(liveHeap()-before) / float64(clients)
	order := rand.New(rand.NewPCG(1, 2)).Perm(clients)
	rounds := 0
	share := coreShare(b, timing.Ping, func() {
		rounds++
		c.pings(order)
	})
	mallocs := ownMallocs()
	c.pings(order)
	mallocs = ownMallocs() - mallocs
	c.settle(&c.pongs, (rounds+1)*clients)
	if n := c.evicted.Load(); n > 0 {
		b.check(fmt.Errorf("%d clients were evicted", n))
	}
	runtime.KeepAlive(c)
	what := fmt.Sprintf("%d clients on one master, ", clients)
	b.add(
		line{what: what + "a ping each in " + timing.Ping.String() + ", agent above portals and LNet: CPU", ratio: share, unit: "%", limit: 5, basis: fmt.Sprintf("of a core, without the sockets; %.0f ns for a ping with its pong, %.3f allocations", share/100*float64(timing.Ping)/float64(clients), float64(mallocs)/float64(clients))},
		line{what: what + "agent above portals and LNet: memory of a client with LNet's peer", ratio: perClient, unit: "B", free: true, basis: "live heap, without the sockets"},
	)
	b.check(c.close(b.ctx))
}
