package discovery_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// cable connects the NIs of several nodes. Messages wait until the test delivers them, one at
// a time, in the test's goroutine.
type cable struct {
	t       *testing.T
	ports   map[nid.NID]*port
	mu      sync.Mutex                 // held for waiting and log: with the real clock, timers send too
	waiting []packet                   // messages that have not arrived
	log     []string                   // one line for each message, written when the message is sent
	spoil   func(wire.Header, []byte)  // changes a payload on its way; nil: no change
	refuse  func(m *lnd.Message) error // error with which a send fails; nil function: none fails
	forge   nid.NID                    // source NID of all messages; zero: the sender's own
	clock   machine.Clock              // clock of the nodes; nil: the real one
}

type packet struct {
	header  wire.Header
	from    nid.NID // NID at the other end of the connection
	target  nid.NID
	payload []byte
}

// port is the driver and the NI of one node on the cable.
type port struct {
	cable       *cable
	id          nid.NID
	up          lnd.Upcalls
	held        map[*lnd.Delivery]packet
	incarnation uint64 // incarnation of the port's node
}

func newCable(t *testing.T) *cable { return &cable{t: t, ports: make(map[nid.NID]*port)} }

func (p *port) Type() nid.NetType { return p.id.Net().Type() }
func (p *port) NID() nid.NID      { return p.id }

func (p *port) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	p.up = up
	p.cable.ports[p.id] = p
	return p, nil
}

func (p *port) Send(m *lnd.Message) {
	var err error
	if p.cable.refuse != nil {
		err = p.cable.refuse(m)
	}
	if err == nil {
		var b []byte
		for _, piece := range m.Payload.Append(nil) {
			b = append(b, piece...)
		}
		p.cable.carry(packet{m.Header, p.id, m.Target.NID, b})
	}
	p.up.Finalize(m, err)
}

func (c *cable) carry(p packet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, describe(&p.header))
	c.waiting = append(c.waiting, p)
}

func (p *port) Recv(d *lnd.Delivery) {
	in := p.held[d]
	delete(p.held, d)
	p.finish(d, in)
}

func (p *port) finish(d *lnd.Delivery, in packet) {
	rest := in.payload[:min(d.Sink.Length, len(in.payload))]
	for _, piece := range d.Sink.Append(nil) {
		rest = rest[copy(piece, rest):]
	}
	p.up.Delivered(d, nil)
}

func (p *port) Shutdown(context.Context) error {
	delete(p.cable.ports, p.id)
	return nil
}

// describe returns a message as text: "10.0.0.1@tcp GET 0 272".
func describe(h *wire.Header) string {
	s := fmt.Sprintf("%v %v", h.SrcNID, h.Type)
	switch h.Type {
	case wire.Put:
		s += fmt.Sprintf(" %d %d", h.Put().Portal, h.PayloadLength)
	case wire.Get:
		s += fmt.Sprintf(" %d %d", h.Get().Portal, h.Get().SinkLength)
	case wire.Reply:
		s += fmt.Sprintf(" %d", h.PayloadLength)
	}
	return s
}

// arrive delivers the i-th waiting message. Messages to a NID without a node are lost.
func (c *cable) arrive(i int) {
	c.t.Helper()
	c.mu.Lock()
	in := c.waiting[i]
	c.waiting = slices.Delete(c.waiting, i, i+1)
	c.mu.Unlock()
	if c.spoil != nil {
		c.spoil(in.header, in.payload)
	}
	p := c.ports[in.target]
	if p == nil {
		return
	}
	d := &lnd.Delivery{Header: in.header, From: nid.ProcessID{NID: in.from, PID: in.header.SrcPID}}
	if c.clock != nil {
		d.ReceivedAt = c.clock.Now()
	}
	if from := c.ports[in.from]; from != nil {
		d.Incarnation = from.incarnation
	}
	if p.held == nil {
		p.held = make(map[*lnd.Delivery]packet)
	}
	p.held[d] = in
	switch answer, err := p.up.Parse(d); {
	case err != nil:
		c.t.Errorf("%s: %v", describe(&in.header), err)
	case answer == lnd.Accept:
		delete(p.held, d)
		p.finish(d, in)
	}
}

// settle delivers all waiting messages in order.
func (c *cable) settle() {
	for c.left() > 0 {
		c.arrive(0)
	}
}

// left returns the number of messages that have not arrived.
func (c *cable) left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// want compares the messages that were sent since the last call.
func (c *cable) want(what string, lines ...string) {
	c.t.Helper()
	if diff := cmp.Diff(strings.Join(lines, "\n"), strings.Join(c.log, "\n")); diff != "" {
		c.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
	c.log = nil
}

// node is a node that is connected to the cable.
type node struct {
	t     *testing.T
	cable *cable
	table *portals.Table
	agent *discovery.Agent
	got   []string // PUTs that came to portal 5, as "INITIATOR LENGTH"
	sent  []error  // errors with which the node's own PUTs ended
}

func (c *cable) node(cfg discovery.Config, ids ...string) *node {
	c.t.Helper()
	clock := c.clock
	if clock == nil {
		clock = machine.RealClock()
	}
	n := &node{t: c.t, cable: c, table: portals.New(lnet.New(lnet.Config{Incarnation: 7, Clock: clock}))}
	if _, err := n.table.Node().AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
		c.t.Fatal(err)
	}
	var err error
	if n.agent, err = discovery.New(n.table, cfg); err != nil {
		c.t.Fatal(err)
	}
	for _, id := range ids {
		n.add(id)
	}
	me, err := n.table.MEAttach(5, portals.Match{}, portals.Unlink, portals.After)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err = n.table.MDAttach(me, portals.MD{
		Segments: []lnd.Segment{make([]byte, 64)}, Threshold: portals.ThresholdInfinite,
		Options: portals.OpPut | portals.ManageRemote,
		Handler: func(e *portals.Event) {
			if e.Kind == portals.EventPut {
				n.got = append(n.got, fmt.Sprintf("%v %d", e.Initiator.NID, e.MLength))
			}
		},
	}, portals.Unlink); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = n.agent.Close(context.Background())
		if err := n.table.Node().Shutdown(context.Background()); err != nil {
			c.t.Errorf("shutdown: %v", err)
		}
		if left := n.table.Node().Stats().MsgsAlloc; left != 0 {
			c.t.Errorf("%d messages never ended", left)
		}
	})
	return n
}

func (n *node) add(id string) *lnet.NI {
	n.t.Helper()
	p := &port{cable: n.cable, id: nid.MustParse(id), incarnation: 1}
	ni, err := n.table.Node().AddNI(p, lnd.Config{Net: p.id.Net()})
	if err != nil {
		n.t.Fatal(err)
	}
	return ni
}

// put sends a PUT of length bytes to portal 5 of a node.
func (n *node) put(to string, length int) portals.MDHandle {
	n.t.Helper()
	md, err := n.table.MDBind(portals.MD{
		Segments: []lnd.Segment{make([]byte, length)}, Threshold: 1,
		Handler: func(e *portals.Event) {
			if e.Kind == portals.EventSend {
				n.sent = append(n.sent, e.Err)
			}
		},
	}, portals.Unlink)
	if err != nil {
		n.t.Fatal(err)
	}
	err = n.table.Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: nid.MustParse(to)}, Portal: 5})
	if err != nil {
		n.t.Fatal(err)
	}
	return md
}
