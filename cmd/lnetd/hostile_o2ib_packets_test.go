//go:build linux

package main_test

import (
	"bytes"
	"fmt"
	"maps"
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs/ibta"
)

// hostileTimes is how often each packet is sent.
const hostileTimes = 20

// evil is a payload that must not appear in the memory of any node.
var evil = bytes.Repeat([]byte{0xEE}, 512)

// rdmaPackets are packets with the addresses of the good peer or of strangers. Each has the
// counter of the daemon's device that shows that the packet was dropped.
var rdmaPackets = []struct {
	name, from string
	packet     func(s *sender, o *overheard) []byte
	counter    string
}{
	{"bad ICRC", goodAddr, toConn(func(p *ibta.Packet) { p.Payload = evil }, spoilt), "bad_icrc"},
	{"bad ICRC to the connection manager", strangerAddr, func(s *sender, o *overheard) []byte {
		return spoilt(s.mad(ibta.AttrREQ, &o.req))
	}, "bad_icrc"},
	{"half a packet", goodAddr, toConn(func(p *ibta.Packet) { p.Payload = evil }, func(b []byte) []byte { return b[:13] }), "malformed"},
	{"unknown operation", goodAddr, toConn(func(p *ibta.Packet) { p.OpCode = 0x0C }), "malformed"},
	{"unknown queue pair", goodAddr, toConn(func(p *ibta.Packet) { p.DestQP += 0x1000 }), "unknown_qp"},
	{"other partition", goodAddr, toConn(func(p *ibta.Packet) { p.PKey = 0x8001 }), "bad_pkey"},
	{"stranger to the connection", strangerAddr, toConn(func(p *ibta.Packet) { p.Payload = evil }), "strays"},
	{"datagram to the connection", goodAddr, toConn(func(p *ibta.Packet) { p.OpCode = ibta.UDSendOnly }), "foreign"},
	{"PSN far ahead", goodAddr, toConn(func(p *ibta.Packet) { p.PSN, p.Payload = p.PSN.Add(1<<22), evil }), "ahead"},
	{"WRITE far ahead, wrong RKey", goodAddr, toConn(func(p *ibta.Packet) {
		p.OpCode, p.PSN, p.Payload = ibta.WriteOnly, p.PSN.Add(1<<22), evil
		p.RETH = ibta.RETH{Address: 4096, RKey: 0x1234, Length: uint32(len(evil))}
	}), "ahead"},
	{"PSN far behind", goodAddr, toConn(func(p *ibta.Packet) { p.PSN, p.Payload = p.PSN.Add(-1<<22), evil }), "duplicates"},
	{"ACK of what was never sent", goodAddr, func(s *sender, o *overheard) []byte {
		return s.packet(ibta.Packet{
			BTH:  ibta.BTH{OpCode: ibta.Acknowledge, PKey: ibta.DefaultPKey, DestQP: o.rep.QPN, PSN: o.req.StartingPSN.Add(1 << 22)},
			AETH: ibta.AETH{Syndrome: ibta.AckUnlimited},
		})
	}, "ghosts"},
	{"wrong Q_Key", strangerAddr, toGSI(func(p *ibta.Packet) { p.DETH.QKey = ibta.CMQKey }), "bad_qkey"},
	{"no management datagram", strangerAddr, toGSI(func(p *ibta.Packet) {}), "cm_malformed"},

	{"SIDR_REQ", strangerAddr, mad(ibta.AttrSIDRREQ, func(o *overheard) cmBody { return &o.req }), "cm_ignored"},
	{"REQ with somebody else's address", strangerAddr, mad(ibta.AttrREQ, func(o *overheard) cmBody {
		r := o.req
		r.LocalID, r.QPN = r.LocalID+1, r.QPN+1
		return &r
	}), "cm_refused"},
	{"REQ to a port where nobody listens", goodAddr, mad(ibta.AttrREQ, func(o *overheard) cmBody {
		r := o.req
		r.LocalID, r.QPN, r.ServiceID = r.LocalID+1, r.QPN+1, r.ServiceID+1
		return &r
	}), "cm_refused"},
	{"REQ that has been granted", goodAddr, mad(ibta.AttrREQ, func(o *overheard) cmBody { return &o.req }), "cm_duplicates"},
	{"REP to nothing", strangerAddr, mad(ibta.AttrREP, func(*overheard) cmBody { return &ibta.REP{LocalID: 5, RemoteID: 6, QPN: 7} }), "cm_unknown"},
	{"REP to who was asked", goodAddr, mad(ibta.AttrREP, func(o *overheard) cmBody {
		return &ibta.REP{LocalID: o.req.LocalID, RemoteID: o.rep.LocalID, QPN: o.req.QPN}
	}), "cm_forged"},
	{"RTU to nothing", strangerAddr, mad(ibta.AttrRTU, func(*overheard) cmBody { return &ibta.RTU{LocalID: 5, RemoteID: 6} }), "cm_unknown"},
	{"RTU again", goodAddr, mad(ibta.AttrRTU, func(o *overheard) cmBody {
		return &ibta.RTU{LocalID: o.req.LocalID, RemoteID: o.rep.LocalID}
	}), "cm_duplicates"},
	{"MRA of an established connection", goodAddr, mad(ibta.AttrMRA, func(o *overheard) cmBody {
		return &ibta.MRA{LocalID: o.req.LocalID, RemoteID: o.rep.LocalID, Message: ibta.RejectedREP, ServiceTimeout: 31}
	}), "cm_out_of_state"},
	{"stranger's DREQ", strangerAddr, mad(ibta.AttrDREQ, func(o *overheard) cmBody {
		return &ibta.DREQ{LocalID: o.req.LocalID, RemoteID: o.rep.LocalID, RemoteQPN: o.rep.QPN}
	}), "cm_forged"},
	{"DREQ of another queue pair", goodAddr, mad(ibta.AttrDREQ, func(o *overheard) cmBody {
		return &ibta.DREQ{LocalID: o.req.LocalID, RemoteID: o.rep.LocalID, RemoteQPN: o.rep.QPN + 1}
	}), "cm_forged"},
	{"DREQ of nothing", strangerAddr, mad(ibta.AttrDREQ, func(*overheard) cmBody { return &ibta.DREQ{LocalID: 5, RemoteID: 6} }), "cm_unknown"},
	{"DREP out of state", goodAddr, mad(ibta.AttrDREP, func(o *overheard) cmBody {
		return &ibta.DREP{LocalID: o.req.LocalID, RemoteID: o.rep.LocalID}
	}), "cm_out_of_state"},
	{"stranger's REJ", strangerAddr, mad(ibta.AttrREJ, func(o *overheard) cmBody {
		return &ibta.REJ{LocalID: o.req.LocalID, RemoteID: o.rep.LocalID, Reason: ibta.RejectStale}
	}), "cm_forged"},
}

// toConn returns a packet to that queue pair of the daemon that belongs to the good peer's
// connection.
func toConn(change func(p *ibta.Packet), spoil ...func([]byte) []byte) func(*sender, *overheard) []byte {
	return func(s *sender, o *overheard) []byte {
		p := ibta.Packet{BTH: ibta.BTH{
			OpCode: ibta.SendOnly, PKey: ibta.DefaultPKey, DestQP: o.rep.QPN, PSN: o.rep.StartingPSN, AckReq: true,
		}}
		change(&p)
		b := s.packet(p)
		for _, f := range spoil {
			b = f(b)
		}
		return b
	}
}

// toGSI returns a packet to the daemon's QP 1.
func toGSI(change func(p *ibta.Packet)) func(*sender, *overheard) []byte {
	return func(s *sender, _ *overheard) []byte {
		p := ibta.Packet{
			BTH:  ibta.BTH{OpCode: ibta.UDSendOnly, PKey: ibta.DefaultPKey, DestQP: ibta.GSI},
			DETH: ibta.DETH{QKey: ibta.GSIQKey, SrcQP: ibta.GSI}, Payload: evil,
		}
		change(&p)
		return s.packet(p)
	}
}

// mad returns a packet to the daemon's connection manager.
func mad(kind ibta.Attribute, body func(o *overheard) cmBody) func(*sender, *overheard) []byte {
	return func(s *sender, o *overheard) []byte { return s.mad(kind, body(o)) }
}

// spoilt returns a packet with one bit flipped.
func spoilt(b []byte) []byte {
	b[20] ^= 1
	return b
}

// packets sends each packet of rdmaPackets, or every third one in a short run, hostileTimes times. The device
// must count all of them, and the traffic with the peer must go on.
func (b *blockade) packets(t *testing.T) {
	began := b.daemon.Reasons()
	for _, test := range effort.Some(3, rdmaPackets) {
		t.Run(test.name, func(t *testing.T) {
			before, reasons := b.device(), b.daemon.Reasons()
			s := b.from(t, test.from)
			for range hostileTimes {
				s.send(t, test.packet(s, &b.heard))
			}
			b.rises(t, before, hostileTimes, test.counter)
			b.unharmed(t)
			b.wantReasons(t, reasons, 0)
			if got := b.device()["cm_connections"]; got != before["cm_connections"] {
				t.Errorf("%d connections at the device, and %d before", got, before["cm_connections"])
			}
		})
	}
	b.goesOn(t)
	b.wantReasons(t, began, 0)
}

// rises waits until the sum of the named counters of the device has risen by the given number.
func (b *blockade) rises(t *testing.T, before map[string]uint64, by uint64, names ...string) {
	t.Helper()
	now := map[string]uint64{}
	b.daemon.Until(reaction, fmt.Sprintf("%d more of %v", by, names), func() bool {
		sum := uint64(0)
		maps.Copy(now, b.device())
		for _, name := range names {
			sum += now[name] - before[name]
		}
		return sum >= by
	})
}
