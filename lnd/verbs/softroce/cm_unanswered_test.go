package softroce

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/verbs/ibta"
)

// leave makes a peer of node 1 request a connection, use it, and then answer none of the messages that
// end it. The peer names the longest timeout that a REQ can name.
func (x *cmNet) leave(from netip.Addr, id uint32) {
	n := x.nodes[1]
	x.forge(from, id)
	x.run(x.now)
	e := n.events[len(n.events)-1]
	if e.Kind != cmRequested {
		return // refused
	}
	x.do(1, cmCall{Kind: callHeard, ID: e.ID})
	x.do(1, cmCall{Kind: callDisconnect, ID: e.ID})
}

// TestCMUnansweredDREQs: peers whose connections end, and that do not answer the DREQs, keep neither other peers
// nor themselves from connecting, nor this node from requesting connections.
func TestCMUnansweredDREQs(t *testing.T) {
	for name, tt := range map[string]struct{ hosts, each, kept int }{
		"one host":   {hosts: 1, each: 300, kept: 40},
		"many hosts": {hosts: 10, each: 30, kept: 100},
	} {
		t.Run(name, func(t *testing.T) {
			x := newListening(t, 1, 3, weather{})
			n := x.nodes[1]
			n.cm.cfg.MaxConns, n.cm.cfg.MaxConnsEach = 100, 40
			x.drop = func(from int, _ ibta.MAD) bool { return from == 1 }
			for i := range tt.each {
				for k := range tt.hosts {
					x.leave(netip.AddrFrom4([4]byte{10, 0, 0, byte(3 + k)}), uint32(i+1))
				}
			}
			if gone := tt.hosts*tt.each - tt.kept; len(n.cm.conns) != tt.kept || n.cm.counters.Crowded != uint64(gone) {
				t.Errorf("%d connections, %+v", len(n.cm.conns), n.cm.counters)
			}
			x.drop = nil
			for _, host := range []int{0, 2} { // node 2 is one of those that answer nothing
				x.do(host, cmCall{Kind: callListen, Port: testPort})
				x.nodes[host].events = nil // those of the DREQs that it did not answer
				x.connect(host, 1)
				x.connect(1, host)
				x.run(x.now + firstResend/2)
				if e := x.nodes[host].kinds(); !slices.Contains(e, cmRequested) || len(e) != 3 {
					t.Errorf("node %d: events %v, %+v", host, e, n.cm.counters)
				}
			}
		})
	}
}

// TestCMUnansweredDREQEnds: an unanswered DREQ is given up after some seconds, whatever timeout the peer has named.
func TestCMUnansweredDREQEnds(t *testing.T) {
	x := newListening(t, 1, 3, weather{})
	x.drop = func(from int, _ ibta.MAD) bool { return from == 1 }
	x.leave(x.nodes[2].addr, 1)
	x.run(20 * time.Second)
	x.empty()
	if n := x.sent[ibta.AttrDREQ]; n < 5 {
		t.Errorf("%d DREQs sent", n)
	}
}

// TestCMForgedStale: pairs of forged requests with the same communication id, of which the second ends what the
// first began, do not keep the host that they name from connecting.
func TestCMForgedStale(t *testing.T) {
	x := newListening(t, 1, 3, weather{})
	n, victim := x.nodes[1], x.nodes[2].addr
	n.cm.cfg.MaxConns, n.cm.cfg.MaxConnsEach = 100, 40
	x.drop = func(from int, _ ibta.MAD) bool { return from == 1 }
	for i := range uint32(300) {
		for qpn := range ibta.QPN(2) {
			x.forgeFor(victim, i+1, ibta.QPN(2*i+2)+qpn)
			x.run(x.now)
		}
	}
	x.drop = nil
	x.connect(2, 1)
	x.run(x.now + firstResend/2)
	x.expect(2, cmEstablished)
}

// TestCMFullOfUse: connections that are in use are not evicted. At the limit further requests are refused.
func TestCMFullOfUse(t *testing.T) {
	x := newListening(t, 1, 3, weather{})
	n := x.nodes[1]
	n.cm.cfg.MaxConns, n.cm.cfg.MaxConnsEach = 100, 4
	for range 4 {
		x.connect(2, 1)
		x.run(x.now)
	}
	x.connect(2, 1)
	x.run(x.now)
	x.expect(2, cmEstablished, cmEstablished, cmEstablished, cmEstablished, cmRejected)
	x.connect(0, 1)
	x.run(x.now)
	x.expect(0, cmEstablished)
	if n.cm.counters.Crowded != 0 {
		t.Errorf("%+v", n.cm.counters)
	}
}
