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

// sorted is a network whose ports have a socket for destinations that may not exist. It notes by which socket the
// packets of requests left.
type sorted struct {
	wire.Network
	management, requests []bool // for each packet of QP 1, and for each request of other queue pairs: whether it was set aside
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
	a.Aside = a.Local
	return a
}

func (c *sortedConn) Send(list []wire.Burst) (int, error) {
	for i := range list {
		switch p, err := ibta.ParsePacket(list[i].Bytes[:list[i].Size]); {
		case err != nil:
			return i, err
		case p.DestQP == ibta.GSI:
			c.net.management = append(c.net.management, list[i].Aside)
		case p.OpCode.IsRequest():
			c.net.requests = append(c.net.requests, list[i].Aside)
		case list[i].Aside:
			c.net.management = append(c.net.management, false) // an answer goes to a peer that was heard
		}
	}
	return c.Conn.Send(list)
}

// TestAside: messages of the connection manager, and packets to a peer that has not answered two probes, leave by the
// socket for destinations that may not exist, until the peer answers.
func TestAside(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{Delay: 10 * time.Microsecond})
	n := &sorted{Network: v.net}
	var nodes [2]*testNode
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		nodes[i] = openNode(t, NewOpener(Options{Network: n}), verbs.OpenConfig{Addr: netip.MustParseAddr(a), Clock: v.clock})
	}
	nodes[1].listen()
	c, err := nodes[0].device.Connect(addrPort(nodes[1].device), nodes[0].config(), nodes[0].event)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Second
	v.clock.Run(now)
	exchange := func(cut time.Duration) []bool {
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
	if got := exchange(0); !slices.Equal(got, []bool{false}) {
		t.Errorf("a message to a peer that answers: set aside %v", got)
	}
	got := exchange(2 * time.Second)
	if first := 1 + fewProbes; len(got) < 2*first || slices.Contains(got[:first], true) || slices.Contains(got[first:], false) {
		t.Errorf("a message to a peer that is silent: set aside %v", got)
	}
	if got := exchange(0); !slices.Equal(got, []bool{false}) {
		t.Errorf("a message to a peer that answers again: set aside %v", got)
	}
	if len(n.management) == 0 || slices.Contains(n.management, false) {
		t.Errorf("the connection manager: set aside %v", n.management)
	}
}
