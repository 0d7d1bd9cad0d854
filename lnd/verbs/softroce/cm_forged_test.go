package softroce

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs/ibta"
)

// TestCMForgedRequests: forged requests, in the names of many hosts or of one, do not prevent
// other peers from connecting, and the requests that were evicted for others are reported.
func TestCMForgedRequests(t *testing.T) {
	for _, tt := range []struct{ names, each, open int }{
		{names: 10, each: 120, open: 1000},
		{names: 1, each: 300, open: 200},
	} {
		x := newListening(t, 1, 3, weather{})
		n := x.nodes[1]
		n.cm.cfg.MaxConns, n.cm.cfg.MaxGranted, n.cm.cfg.MaxGrantedEach = maxConns, 1000, 200
		x.drop = func(from int, _ ibta.MAD) bool { return from == 1 }
		asked := 0
		for i := range tt.each {
			for k := range tt.names {
				x.forge(netip.AddrFrom4([4]byte{10, 0, 0, byte(3 + k)}), uint32(i+1))
				x.run(x.now)
				asked++
			}
		}
		gone := asked - tt.open
		if len(n.cm.conns) != tt.open || n.cm.counters.Crowded != uint64(gone) || x.sent[ibta.AttrDREQ] != gone || x.sent[ibta.AttrREJ] != 0 {
			t.Errorf("%+v: %d connections, sent %v, %+v", tt, len(n.cm.conns), x.sent, n.cm.counters)
		}
		x.drop = nil
		for _, from := range []int{0, 2} { // forged requests name node 2 as their sender
			x.connect(from, 1)
			x.run(x.now + firstResend/2)
			x.expect(from, cmEstablished)
		}
	}
}

// TestCMCrowd: a peer that connected before a flood of requests in its name stays connected,
// although its RTU arrives after the flood.
func TestCMCrowd(t *testing.T) {
	x := newListening(t, 1, 3, weather{delay: time.Millisecond})
	n, peer := x.nodes[1], x.nodes[2].addr
	n.cm.cfg.MaxConns = 2 * maxGrantedEach
	x.connect(2, 1)
	for x.sent[ibta.AttrRTU] == 0 {
		x.run(x.air[0].at)
	}
	rtu := x.air[len(x.air)-1]
	x.air = nil
	x.drop = func(from int, _ ibta.MAD) bool { return from == 1 }
	for i := range uint32(maxGrantedEach - 1) {
		x.forge(peer, i+1)
	}
	x.air = append(x.air, rtu)
	x.run(rtu.at)
	x.expect(2, cmEstablished)
	if e := n.events[len(n.events)-1]; e.Kind != cmEstablished || n.cm.counters.Crowded != 0 {
		t.Errorf("%+v at last, %+v", e, n.cm.counters)
	}
}

// forge gives node 1 a request in the name of a node that did not send it.
func (x *cmNet) forge(from netip.Addr, id uint32) { x.forgeFor(from, id, ibta.QPN(id+1)) }

// forgeFor is forge with a queue pair.
func (x *cmNet) forgeFor(from netip.Addr, id uint32, qpn ibta.QPN) {
	x.put(from, 1, x.request(func(r *ibta.REQ) {
		src := from.As4()
		copy(r.Private[16:], src[:])
		r.LocalID, r.QPN, r.Primary.LocalGID = ibta.CommID(id), qpn, ibta.GIDFrom(from)
		r.LocalTimeout = 31
	}))
}

// TestCMForgedRequestBringsLittle: the host that a forged request names is sent a few packets
// only.
func TestCMForgedRequestBringsLittle(t *testing.T) {
	x := newListening(t, 1, 3, weather{})
	x.drop = func(from int, _ ibta.MAD) bool { return from == 1 }
	x.forge(x.nodes[2].addr, 1)
	x.run(maxRequestTime + time.Second)
	x.expect(1, cmRequested, cmUnreachable)
	x.empty()
	if got := len(x.sent); got != 2 || x.sent[ibta.AttrREP] != maxREPs || x.sent[ibta.AttrDREQ] != 1 {
		t.Errorf("sent %v", x.sent)
	}
}

// TestCMClosing: a device that closes repeats its DREQ until a peer has received it, although
// most packets are lost.
func TestCMClosing(t *testing.T) {
	x := newListening(t, 1, 2, weather{})
	id := x.connect(0, 1)
	x.run(time.Second)
	lost := 0
	x.drop = func(_ int, m ibta.MAD) bool {
		if m.Attribute == ibta.AttrDREQ {
			lost++
		}
		return lost < 4
	}
	x.do(0, cmCall{Kind: callDisconnect, ID: id})
	x.do(0, cmCall{Kind: callClosing})
	x.do(0, cmCall{Kind: callClosing}) // the node sends nothing after this call
	x.run(x.now)
	x.expect(1, cmRequested, cmEstablished, cmDisconnected)
	if x.sent[ibta.AttrDREQ] != 4 {
		t.Errorf("sent %v", x.sent)
	}
}
