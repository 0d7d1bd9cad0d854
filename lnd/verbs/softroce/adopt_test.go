package softroce

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
)

// TestAdopt makes two devices adopt the ends of a connection: messages pass, with the given
// numbers, and a failure of one side ends the connection on that side.
func TestAdopt(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{})
	var tapped []ibta.Packet
	tap := func(p verbs.TappedPacket) {
		q, err := ibta.ParsePacket(bytes.Clone(p.Bytes))
		if err != nil {
			t.Error(err)
		}
		if p.Sent {
			tapped = append(tapped, q)
		}
	}
	var nodes [2]*testNode
	var conns [2]verbs.Conn
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		nodes[i] = openNode(t, v.open, verbs.OpenConfig{Addr: netip.MustParseAddr(a), Clock: v.clock, Tap: tap})
	}
	for i, n := range nodes {
		cfg := AdoptConfig{
			QP: n.config().QP, Peer: nodes[1-i].device.Attr().Addr, QPN: ibta.QPN(17 + i), DestQP: ibta.QPN(18 - i), MTU: ibta.MTU1024,
			SendPSN: ibta.PSN(1000 + 1000*i), RecvPSN: ibta.PSN(2000 - 1000*i), MSN: uint32(5 + i), RetryCount: 1,
		}
		var err error
		if conns[i], err = Adopt(n.device, cfg, n.event); err != nil {
			t.Fatal(err)
		}
		if _, err = Adopt(n.device, cfg, n.event); err == nil {
			t.Error("adopted twice")
		}
		if conns[i].QPN() != uint32(17+i) {
			t.Error("QPN", conns[i].QPN())
		}
	}
	if err := conns[0].PostSend([]verbs.SendWR{send(1, []byte("in the middle"))}); err != nil {
		t.Fatal(err)
	}
	v.clock.Run(time.Second)
	if got := take(t, nodes[1].got); string(got) != "in the middle" {
		t.Errorf("%q", got)
	}
	if c := take(t, nodes[0].done); c.Status != verbs.Success {
		t.Errorf("%+v", c)
	}
	if len(tapped) != 2 || tapped[0].PSN != 1000 || tapped[0].DestQP != 18 || tapped[1].OpCode != ibta.Acknowledge || tapped[1].AETH.MSN != 7 {
		t.Errorf("%+v", tapped)
	}
	conns[1].Disconnect()
	if e := take(t, nodes[1].events); e.Kind != verbs.Disconnected || e.Status != verbs.Success {
		t.Errorf("%+v", e)
	}
	if err := conns[0].PostSend([]verbs.SendWR{send(2, []byte("nobody is there"))}); err != nil {
		t.Fatal(err)
	}
	v.clock.Run(time.Minute)
	if c := take(t, nodes[0].done); c.ID != 2 || c.Status != verbs.RetryExceeded {
		t.Errorf("%+v", c)
	}
	if e := take(t, nodes[0].events); e.Kind != verbs.Disconnected || e.Status != verbs.RetryExceeded {
		t.Errorf("%+v", e)
	}
	for i, n := range nodes {
		s := n.device.(interface{ Stats() Stats }).Stats()
		if s.QueuePairs != 0 || s.Transport.Timeouts != uint64(2-2*i) {
			t.Errorf("%+v", s)
		}
	}
}
