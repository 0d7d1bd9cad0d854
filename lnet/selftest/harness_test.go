package selftest_test

import (
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/lo"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
)

// lab is a network in virtual time: host 0 is a console, whose requests the test itself sends;
// the others are test nodes.
type lab struct {
	t      *testing.T
	fabric *simlnd.Fabric
	hosts  []*simlnd.Host
	tables []*portals.Table
	agents []*selftest.Agent
	ids    uint64
	wait   time.Duration // how long ask waits for a reply
	over   func(lnd.Driver) lnd.Driver
}

// session is the session that tests use.
var session = wire.Session{Console: simlnd.NID(0), Stamp: 100}

func newLab(t *testing.T, nodes int, cfg selftest.Config) *lab {
	t.Helper()
	return newLabOver(t, nodes, cfg, func(d lnd.Driver) lnd.Driver { return d })
}

// newLabOver is newLab with test nodes whose drivers the function over makes from those of the network.
func newLabOver(t *testing.T, nodes int, cfg selftest.Config, over func(lnd.Driver) lnd.Driver) *lab {
	t.Helper()
	l := &lab{t: t, over: over, wait: time.Second, hosts: make([]*simlnd.Host, nodes+1), tables: make([]*portals.Table, nodes+1), agents: make([]*selftest.Agent, nodes+1)}
	quality := link.Quality{}
	quality.Latency.Base = 100 * time.Microsecond
	var err error
	l.fabric, err = simlnd.New(simlnd.Config{Nodes: nodes + 1, Seed: 1, Topology: &sim.Flat{Link: quality}, Boot: func(h, _ *simlnd.Host) { l.boot(h, cfg) }})
	if err != nil {
		t.Fatal(err)
	}
	l.run(10 * time.Millisecond)
	return l
}

func (l *lab) boot(h *simlnd.Host, cfg selftest.Config) {
	id := int(h.ID())
	node := lnet.New(lnet.Config{Incarnation: h.LNetIncarnation(), Clock: h.Clock()})
	l.hosts[id], l.tables[id] = h, portals.New(node)
	driver := h.Driver()
	if id != 0 {
		driver = l.over(driver)
	}
	for _, d := range []lnd.Driver{driver, lo.Driver{}} {
		if _, err := node.AddNI(d, lnd.Config{Net: nid.MakeNet(d.Type(), 0)}); err != nil {
			l.t.Error(err)
		}
	}
	if _, err := discovery.NewTarget(l.tables[id]); err != nil {
		l.t.Error(err)
	}
	if id == 0 {
		return
	}
	var err error
	if l.agents[id], err = selftest.New(l.tables[id], cfg); err != nil {
		l.t.Error(err)
	}
}

func (l *lab) run(d time.Duration) {
	l.t.Helper()
	if err := l.fabric.Run(l.fabric.Now() + d); err != nil {
		l.t.Fatal(err)
	}
}

// expose lets a node put a message to the console's bulk portal, or get one from there.
func (l *lab) expose(from int, bits uint64, b []byte, option portals.MDOption, handle func(*portals.Event)) {
	me, err := l.tables[0].MEAttach(wire.BulkPortal, portals.Match{ID: process(from), Bits: bits}, portals.Unlink, portals.After)
	if err != nil {
		l.t.Error(err)
		return
	}
	if _, err = l.tables[0].MDAttach(me, portals.MD{Segments: []lnd.Segment{b}, Threshold: 1, Options: option, Handler: handle}, portals.Unlink); err != nil {
		l.t.Error(err)
	}
}

// ask sends a request of the console to a node, lets the time l.wait pass, and returns the reply.
func (l *lab) ask(to int, service wire.Service, body wire.Body) (reply wire.Message, ok bool) {
	l.t.Helper()
	return l.askPortal(to, int(service.Portal()), uint64(service), body)
}

// askPortal is ask with any portal and match bits.
func (l *lab) askPortal(to, portal int, bits uint64, body wire.Body) (reply wire.Message, ok bool) {
	l.t.Helper()
	l.ids++
	id := 1<<40 + l.ids
	data, err := (&wire.Message{Header: wire.Header{Features: 1}, ReplyID: id, Body: body}).AppendBinary(nil)
	if err != nil {
		l.t.Fatal(err)
	}
	b := make([]byte, wire.MessageSize)
	l.hosts[0].Do(func() {
		l.expose(to, id, b, portals.OpPut, func(e *portals.Event) {
			if e.Kind == portals.EventPut {
				reply, err = wire.ParseMessage(b[:e.MLength])
				ok = err == nil
			}
		})
		md, err := l.tables[0].MDBind(portals.MD{Segments: []lnd.Segment{data}, Threshold: 1}, portals.Unlink)
		if err == nil {
			err = l.tables[0].Put(portals.PutRequest{MD: md, Target: process(to), Portal: portal, MatchBits: bits})
		}
		if err != nil {
			l.t.Error(err)
		}
	})
	l.run(l.wait)
	return reply, ok
}

// want fails the test unless a request gets a reply with a status, and returns that reply.
func (l *lab) want(to int, service wire.Service, body wire.Body, status wire.Status) wire.Body {
	l.t.Helper()
	m, ok := l.ask(to, service, body)
	if !ok || m.Status != status {
		l.t.Fatalf("%T: %v, %t, want %v", body, m.Status, ok, status)
	}
	return m.Body
}

// addClient adds a test of node 1 with destinations to batch 2.
func (l *lab) addClient(test wire.Test, to ...int) {
	l.t.Helper()
	var list []wire.Destination
	for _, id := range to {
		list = append(list, process(id))
	}
	data, err := wire.AppendDestinations(nil, list, false)
	if err != nil {
		l.t.Fatal(err)
	}
	l.ids++
	test.BulkID, test.Session, test.Batch, test.Client, test.Destinations = 1<<41+l.ids, session, 2, true, uint32(len(to))
	l.hosts[0].Do(func() { l.expose(1, test.BulkID, data, portals.OpGet, nil) })
	l.want(1, wire.TestService, &test, wire.OK)
}

// runs runs batch 2 of node 1 for a time and returns the counters of nodes 1 and 2.
func (l *lab) runs(d time.Duration) (client, server *wire.StatReply) {
	l.t.Helper()
	l.want(1, wire.BatchService, &wire.Batch{Session: session, Batch: 2, Op: wire.RunBatch}, wire.OK)
	l.run(d)
	client = l.want(1, wire.StatService, &wire.Stat{Session: session}, wire.OK).(*wire.StatReply)
	server = l.want(2, wire.StatService, &wire.Stat{Session: session}, wire.OK).(*wire.StatReply)
	return client, server
}

func process(id int) nid.ProcessID {
	return nid.ProcessID{NID: simlnd.NID(sim.NodeID(id)), PID: nid.LustrePID}
}
