package softroce

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs/ibta"
)

// request is a REQ from node 0 to node 1.
func (x *cmNet) request(change func(*ibta.REQ)) []byte {
	x.t.Helper()
	var out cmOutput
	c := newCM(x.nodes[0].cm.cfg)
	c.Step(0, cmInput{Call: cmCall{
		Kind: callConnect, To: netip.AddrPortFrom(x.nodes[1].addr, testPort), Port: 1023, End: x.end(0), Private: []byte("please"),
	}}, &out)
	b := out.Message(&out.Sends[0])
	m, err := ibta.ParseCM(b)
	if err != nil {
		x.t.Fatal(err)
	}
	m.REQ.Private = bytes.Clone(m.REQ.Private)
	if change != nil {
		change(&m.REQ)
	}
	return m.AppendTo(nil)
}

// give makes a message arrive at node 1, and returns the node's output.
func (x *cmNet) give(from netip.Addr, b []byte) (out cmOutput) {
	x.t.Helper()
	n := x.nodes[1]
	n.wake = n.cm.Step(x.now, cmInput{From: from, Datagram: b}, &out)
	if err := n.cm.invariants(); err != nil {
		x.t.Fatal(err)
	}
	return out
}

// rejection parses the only message of a step, which must be a REJ.
func (x *cmNet) rejection(out *cmOutput) ibta.REJ {
	x.t.Helper()
	if len(out.Sends) != 1 || len(out.Events) != 0 {
		x.t.Fatalf("%+v", out)
	}
	m, err := ibta.ParseCM(out.Message(&out.Sends[0]))
	if err != nil || m.MAD.Attribute != ibta.AttrREJ {
		x.t.Fatalf("%v %v", m.MAD.Attribute, err)
	}
	return m.REJ
}

// TestCMRefuses sends REQs that are refused without asking the consumer: the REJ gives the
// reason, and no state is kept.
func TestCMRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		reason ibta.RejectReason
		change func(*ibta.REQ)
	}{
		{"a port where nobody listens", ibta.RejectServiceID, func(r *ibta.REQ) { r.ServiceID++ }},
		{"datagrams", ibta.RejectServiceID, func(r *ibta.REQ) { r.ServiceID = ibta.PortSpaceUDP.Service(testPort) }},
		{"not of RDMA-CM", ibta.RejectServiceID, func(r *ibta.REQ) { r.ServiceID |= 1 << 40 }},
		{"an unreliable connection", rejectTransport, func(r *ibta.REQ) { r.Transport = 1 }},
		{"QP 1", rejectUnsupported, func(r *ibta.REQ) { r.QPN = 1 }},
		{"a group as QP", rejectUnsupported, func(r *ibta.REQ) { r.QPN = ibta.MulticastQPN }},
		{"another partition", rejectUnsupported, func(r *ibta.REQ) { r.PKey = 0x8001 }},
		{"from elsewhere", rejectGID, func(r *ibta.REQ) { r.Primary.LocalGID[15]++ }},
		{"to elsewhere", rejectGID, func(r *ibta.REQ) { r.Primary.RemoteGID[15]++ }},
		{"another version of RDMA-CM", ibta.RejectConsumer, func(r *ibta.REQ) { r.Private[0] = 1 }},
		{"neither IPv4 nor IPv6", ibta.RejectConsumer, func(r *ibta.REQ) { r.Private[1] = 0x50 }},
		{"another source", ibta.RejectConsumer, func(r *ibta.REQ) { r.Private[19]++ }},
		{"another destination", ibta.RejectConsumer, func(r *ibta.REQ) { r.Private[35]++ }},
		{"no MTU", ibta.RejectMTU, func(r *ibta.REQ) { r.MTU = 0 }},
		{"too large an MTU", ibta.RejectMTU, func(r *ibta.REQ) { r.MTU = ibta.MTU2048 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := newListening(t, 1, 2, weather{})
			out := x.give(x.nodes[0].addr, x.request(test.change))
			r := x.rejection(&out)
			if r.Reason != test.reason || r.Rejected != ibta.RejectedREQ || r.RemoteID == 0 {
				t.Errorf("%+v", r)
			}
			if x.nodes[1].cm.counters.Refused != 1 {
				t.Error("not counted")
			}
			x.empty()
		})
	}
}

// TestCMFull checks that requests above the bounds are refused.
func TestCMFull(t *testing.T) {
	x := newListening(t, 1, 2, weather{})
	for i := range uint32(11) {
		b := x.request(func(r *ibta.REQ) { r.LocalID, r.QPN = ibta.CommID(i+1), ibta.QPN(i+2) })
		out := x.give(x.nodes[0].addr, b)
		if i < 10 {
			if len(out.Events) != 1 {
				t.Fatalf("%+v", out)
			}
			continue
		}
		if r := x.rejection(&out); r.Reason != ibta.RejectNoResources {
			t.Error(r.Reason)
		}
	}
}

// TestCMConsumerRefuses: if a consumer refuses a request, the peer gets its reason and its private
// data.
func TestCMConsumerRefuses(t *testing.T) {
	x := newListening(t, 1, 2, weather{delay: time.Millisecond})
	x.nodes[1].accept = false
	x.connect(0, 1)
	x.run(time.Second)
	x.do(1, cmCall{Kind: callReject, ID: x.nodes[1].events[0].ID, Reason: ibta.RejectConsumer, Private: []byte("no")})
	x.run(2 * time.Second)
	x.expect(0, cmRejected)
	if e := x.nodes[0].events[0]; e.Reason != ibta.RejectConsumer || !bytes.HasPrefix(e.private, []byte("no\x00")) {
		t.Errorf("%+v", e)
	}
	x.empty()
}

// TestCMStale restarts a peer, which then uses the numbers of an earlier connection: its
// request is refused, the old connection ends, and the next request is granted.
func TestCMStale(t *testing.T) {
	x := newListening(t, 1, 2, weather{delay: time.Millisecond})
	x.connect(0, 1)
	x.run(time.Second)
	qpn := x.nodes[1].events[0].Peer.QPN
	x.nodes[0].cm = newCM(x.nodes[0].cm.cfg)
	x.nodes[0].cm.nextID += 5000
	x.nodes[0].events = nil
	again := cmCall{Kind: callConnect, To: netip.AddrPortFrom(x.nodes[1].addr, testPort), End: x.end(0)}
	again.End.QPN = qpn
	x.do(0, again)
	x.run(2 * time.Second)
	x.expect(0, cmRejected)
	if e := x.nodes[0].events[0]; e.Reason != ibta.RejectStale {
		t.Error(e.Reason)
	}
	x.expect(1, cmRequested, cmEstablished, cmDisconnected)
	x.run(10 * time.Second)
	x.empty()
	x.do(0, again)
	x.run(20 * time.Second)
	x.expect(0, cmRejected, cmEstablished)
}

// TestCMForged sends messages of a connection from another host, or with a wrong number: they
// change nothing and are counted.
func TestCMForged(t *testing.T) {
	x := newListening(t, 1, 3, weather{delay: time.Millisecond})
	x.connect(0, 1)
	x.run(time.Second)
	n := x.nodes[1].cm
	id := x.nodes[1].events[0].ID
	c := n.conns[id]
	message := func(kind ibta.Attribute, body cmBody) []byte {
		return body.AppendTo(ibta.MAD{Attribute: kind}.AppendTo(nil))
	}
	peer, other := x.nodes[0].addr, x.nodes[2].addr
	dreq := func(remote ibta.CommID, qpn ibta.QPN) []byte {
		return message(ibta.AttrDREQ, &ibta.DREQ{LocalID: remote, RemoteID: id, RemoteQPN: qpn})
	}
	rej := ibta.REJ{LocalID: c.remote, RemoteID: id, Reason: ibta.RejectTimeout, InfoLength: 8}
	binary.BigEndian.PutUint64(rej.Info[:], uint64(c.guid))
	for _, test := range []struct {
		name    string
		from    netip.Addr
		b       []byte
		counter *uint64
	}{
		{"DREQ of another node", other, dreq(c.remote, c.qpn), &n.counters.Forged},
		{"DREQ for another QP", peer, dreq(c.remote, c.qpn+1), &n.counters.Forged},
		{"DREQ of another id", peer, dreq(c.remote+1, c.qpn), &n.counters.Forged},
		{"REJ of another node", other, message(ibta.AttrREJ, &rej), &n.counters.Forged},
		{"REP to who was asked", peer, message(ibta.AttrREP, &ibta.REP{LocalID: c.remote, RemoteID: id, QPN: 9}), &n.counters.Forged},
		{"RTU again", peer, message(ibta.AttrRTU, &ibta.RTU{LocalID: c.remote, RemoteID: id}), &n.counters.Duplicates},
		{"DREP of no DREQ", peer, message(ibta.AttrDREP, &ibta.DREP{LocalID: c.remote, RemoteID: id}), &n.counters.OutOfState},
		{"MRA of nothing", peer, message(ibta.AttrMRA, &ibta.MRA{LocalID: c.remote, RemoteID: id}), &n.counters.OutOfState},
		{"RTU of nothing", peer, message(ibta.AttrRTU, &ibta.RTU{LocalID: 1, RemoteID: 2}), &n.counters.Unknown},
		{"REJ of nothing", other, message(ibta.AttrREJ, &ibta.REJ{RemoteID: 2}), &n.counters.Unknown},
		{"REQ without an id", peer, x.request(func(r *ibta.REQ) { r.LocalID = 0 }), &n.counters.Malformed},
		{"cut short", peer, dreq(c.remote, c.qpn)[:255], &n.counters.Malformed},
		{"another class", peer, append([]byte{1, 3}, make([]byte, 254)...), &n.counters.Malformed},
		{"SIDR", peer, message(ibta.AttrSIDRREQ, &ibta.RTU{}), &n.counters.Ignored},
	} {
		before := *test.counter
		if out := x.give(test.from, test.b); len(out.Sends)+len(out.Events) != 0 {
			t.Errorf("%s: %+v", test.name, out)
		}
		if *test.counter != before+1 {
			t.Errorf("%s: counters %+v", test.name, n.counters)
		}
		if c.state != established {
			t.Fatalf("%s: %v", test.name, c.state)
		}
	}
	// A DREQ is answered although there is no connection.
	if out := x.give(other, message(ibta.AttrDREQ, &ibta.DREQ{LocalID: 5, RemoteID: 6})); len(out.Sends) != 1 || len(out.Events) != 0 {
		t.Errorf("%+v", out)
	}
	out := x.give(other, message(ibta.AttrREP, &ibta.REP{LocalID: 5, RemoteID: 6, QPN: 7}))
	if r := x.rejection(&out); r.Rejected != ibta.RejectedREP || r.RemoteID != 5 {
		t.Errorf("%+v", r)
	}
}

// TestCMNoise damages the messages of connections that are made and ended: nothing panics,
// invariants hold, and all requests end.
func TestCMNoise(t *testing.T) {
	for seed := range uint64(30) {
		x := newListening(t, seed, 3, weather{delay: time.Millisecond, jitter: 20 * time.Millisecond, duplicate: 0.3})
		rng := rand.New(rand.NewPCG(seed, 9))
		for range 20 {
			x.connect(2*rng.IntN(2), 1)
			x.run(x.now + 15*time.Millisecond)
			for i := range x.air {
				if rng.IntN(2) == 0 {
					b := bytes.Clone(x.air[i].b)
					b[rng.IntN(80)] ^= 1 << rng.IntN(8)
					x.air[i].b = b
				}
			}
			for i, n := range x.nodes {
				for _, e := range n.events {
					if rng.IntN(4) == 0 && n.cm.conns[e.ID] != nil {
						x.do(i, cmCall{Kind: callDisconnect, ID: e.ID})
					}
				}
			}
		}
		x.run(time.Hour)
		for i, n := range x.nodes {
			for _, c := range n.cm.conns {
				if c.state != established {
					t.Errorf("node %d: a connection is %v for ever", i, c.state)
				}
			}
		}
	}
}
