package softroce

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/softroce/wire"
)

// sorted is a network whose ports have further sockets for destinations that may not exist. It records from which
// socket the packets of requests leave.
type sorted struct {
	wire.Network
	t          *testing.T
	management map[ibta.Attribute][]wire.Doubt // that of each message of QP 1
	requests   []wire.Doubt                    // that of each request of other queue pairs
}

func (n *sorted) Open(cfg wire.Config) (wire.Conn, error) {
	c, err := n.Network.Open(cfg)
	return &sortedConn{c, n}, err
}

type sortedConn struct {
	wire.Conn
	net *sorted
}

func (c *sortedConn) Attr() wire.Attr {
	a := c.Conn.Attr()
	for why := wire.NoDoubt + 1; why < wire.Doubts; why++ {
		a.Aside[why] = a.Local
	}
	return a
}

func (c *sortedConn) Send(list []wire.Burst) (int, error) {
	for i := range list {
		for datagram := range slices.Chunk(list[i].Bytes, list[i].Size) {
			c.net.note(datagram, list[i].Doubt)
		}
	}
	return c.Conn.Send(list)
}

// note records from which socket a packet leaves.
func (n *sorted) note(datagram []byte, why wire.Doubt) {
	switch p, err := ibta.ParsePacket(datagram); {
	case err != nil:
		n.t.Error(err)
	case p.DestQP == ibta.GSI:
		m, _, _ := ibta.ParseMAD(p.Payload)
		n.management[m.Attribute] = append(n.management[m.Attribute], why)
	case p.OpCode.IsRequest():
		n.requests = append(n.requests, why)
	case why != wire.NoDoubt:
		n.t.Errorf("an ACK: doubt %d", why) // it goes to a peer that was heard
	}
}

// newSorted opens two devices on a network that records from which socket packets leave. The second device
// listens.
func newSorted(t *testing.T) (*virtual, *sorted, [2]*testNode) {
	v := newVirtual(t, 1, emulator.Faults{Delay: 10 * time.Microsecond})
	n := &sorted{Network: v.net, t: t, management: make(map[ibta.Attribute][]wire.Doubt)}
	var nodes [2]*testNode
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		nodes[i] = openNode(t, NewOpener(Options{Network: n}), verbs.OpenConfig{Addr: netip.MustParseAddr(a), Clock: v.clock})
	}
	nodes[1].listen()
	return v, n, nodes
}

// TestAside: after a peer has left two probes unanswered, packets to it leave from the socket for silent peers,
// until the peer answers.
func TestAside(t *testing.T) {
	v, n, nodes := newSorted(t)
	c, err := nodes[0].device.Connect(addrPort(nodes[1].device), nodes[0].config(), nodes[0].event)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Second
	v.clock.Run(now)
	exchange := func(cut time.Duration) []wire.Doubt {
		n.requests = nil
		v.net.Cut(nodes[0].device.Attr().Addr, nodes[1].device.Attr().Addr, cut > 0)
		if err := c.PostSend([]verbs.SendWR{send(1, []byte("message"))}); err != nil {
			t.Fatal(err)
		}
		now += cut
		v.clock.Run(now)
		v.net.Cut(nodes[0].device.Attr().Addr, nodes[1].device.Attr().Addr, false)
		now += time.Second
		v.clock.Run(now)
		if len(nodes[0].done) != 1 || (<-nodes[0].done).Status != verbs.Success {
			t.Fatal("the message did not arrive")
		}
		return n.requests
	}
	if got := exchange(0); !slices.Equal(got, []wire.Doubt{wire.NoDoubt}) {
		t.Errorf("a message to a peer that answers: doubts %v", got)
	}
	got := exchange(2 * time.Second)
	if first := 1 + fewProbes; len(got) < 2*first || sole(got[:first]) != wire.NoDoubt || sole(got[first:]) != wire.Silent {
		t.Errorf("a message to a peer that is silent: doubts %v", got)
	}
	if got := exchange(0); !slices.Equal(got, []wire.Doubt{wire.NoDoubt}) {
		t.Errorf("a message to a peer that answers again: doubts %v", got)
	}
}

// TestAsideOfManager: answers of the connection manager do not leave from the socket of its requests, because
// requests to missing peers may fill the send buffer of that socket. Nor do requests that are sent only because of packets
// whose source may be forged.
func TestAsideOfManager(t *testing.T) {
	v, n, nodes := newSorted(t)
	c, err := nodes[0].device.Connect(addrPort(nodes[1].device), nodes[0].config(), nodes[0].event)
	if err != nil {
		t.Fatal(err)
	}
	v.clock.Run(time.Second)
	c.Disconnect()
	v.clock.Run(2 * time.Second)
	for kind, want := range map[ibta.Attribute]wire.Doubt{
		ibta.AttrREQ: wire.Asked, ibta.AttrREP: wire.Claimed, ibta.AttrRTU: wire.Claimed,
		ibta.AttrDREQ: wire.Asked, ibta.AttrDREP: wire.Claimed,
	} {
		if got := n.management[kind]; !slices.Equal(got, []wire.Doubt{want}) {
			t.Errorf("%v: doubts %v, want %d", kind, got, want)
		}
	}
	cfg := nodes[0].config()
	clear(n.management)
	cfg.Claimed = true
	if c, err = nodes[0].device.Connect(addrPort(nodes[1].device), cfg, nodes[0].event); err != nil {
		t.Fatal(err)
	}
	v.clock.Run(3 * time.Second)
	c.Disconnect()
	v.clock.Run(4 * time.Second)
	if req, dreq := n.management[ibta.AttrREQ], n.management[ibta.AttrDREQ]; sole(req) != wire.Claimed || sole(dreq) != wire.Asked {
		t.Errorf("a claimed peer has answered: doubts %v of the REQ and %v of the DREQ", req, dreq)
	}
	cfg.Timeout = time.Second
	for i, want := range []wire.Doubt{wire.Asked, wire.Claimed} {
		clear(n.management)
		cfg.Claimed = want == wire.Claimed
		if _, err := nodes[0].device.Connect(netip.MustParseAddrPort("10.0.0.3:987"), cfg, nodes[0].event); err != nil {
			t.Fatal(err)
		}
		v.clock.Run(time.Duration(i+1) * 20 * time.Second)
		for kind, least := range map[ibta.Attribute]int{ibta.AttrREQ: 2, ibta.AttrREJ: 1} {
			if got := n.management[kind]; len(got) < least || sole(got) != want {
				t.Errorf("%v to a missing peer: doubts %v, want %d", kind, got, want)
			}
		}
	}
}

// TestAsideOfForged: nothing that a node sends because of packets with a forged source leaves from the socket of its own
// requests. The source may be a missing neighbour, and then packets to it fill the send buffer.
func TestAsideOfForged(t *testing.T) {
	missing := netip.MustParseAddr("10.0.0.3")
	for name, tt := range map[string]struct {
		forge func(x *cmNet)
		sent  ibta.Attribute // also sent to the missing neighbour
	}{
		"a request without an end":               {func(x *cmNet) { x.forge(missing, 1) }, ibta.AttrDREQ},
		"two requests with the same id":          {func(x *cmNet) { x.forgeFor(missing, 1, 2); x.forgeFor(missing, 1, 3) }, ibta.AttrREJ},
		"a REP without a request":                {func(x *cmNet) { x.forgeREP(missing, 5) }, ibta.AttrREJ},
		"a REP without a request and without id": {func(x *cmNet) { x.forgeREP(missing, 0) }, 0},
		"a DREQ":                                 {func(x *cmNet) { x.put(missing, 1, mad(ibta.AttrDREQ, &ibta.DREQ{LocalID: 5, RemoteID: 77})) }, ibta.AttrDREP},
	} {
		t.Run(name, func(t *testing.T) {
			v, n, nodes := newSorted(t)
			x := newCMNet(t, 1, 2, weather{})
			tt.forge(x)
			for _, f := range x.air {
				nodes[1].device.(*device).hub.cm.do(cmInput{From: f.from, Datagram: f.b}, nil)
			}
			v.clock.Run(maxRequestTime + 2*maxDREQTime)
			for kind, got := range n.management {
				if sole(got) != wire.Claimed {
					t.Errorf("%v: doubts %v", kind, got)
				}
			}
			if got := n.management[tt.sent]; tt.sent != 0 && len(got) == 0 || tt.sent == 0 && len(n.management) != 0 {
				t.Errorf("sent %v", n.management)
			}
		})
	}
}

// mad returns a message of the connection manager.
func mad(kind ibta.Attribute, body cmBody) []byte {
	return body.AppendTo(ibta.MAD{TransactionID: 7, Attribute: kind}.AppendTo(nil))
}

// forgeREP gives node 1 a REP with an id of the sender, for a request that this node has not sent.
func (x *cmNet) forgeREP(from netip.Addr, id ibta.CommID) {
	x.put(from, 1, mad(ibta.AttrREP, &ibta.REP{LocalID: id, RemoteID: 77, QPN: 9}))
}

// sole returns the value that all elements of a list have, or Doubts if they differ.
func sole(list []wire.Doubt) wire.Doubt {
	list = slices.Compact(slices.Clone(list))
	if len(list) != 1 {
		return wire.Doubts
	}
	return list[0]
}
