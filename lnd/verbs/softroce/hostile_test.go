package softroce

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
)

// target is one end of a connection, with all numbers that an attacker would have to guess.
type target struct {
	t      *testing.T
	v      *virtual
	ends   [2]*pinger
	events *[]verbs.Event
	conn   *conn // the attacked end of the connection
	peer   *conn
	memory []byte
	region verbs.MR
	before Stats
}

var (
	peerAddr  = netip.MustParseAddr("10.0.0.1")
	elsewhere = netip.MustParseAddr("10.0.0.3")
)

func newTarget(t *testing.T) *target {
	x := &target{t: t, v: newVirtual(t, 1, perfect), memory: make([]byte, 5000)}
	x.ends, x.events = x.v.pair(nil, nil)
	x.peer, x.conn = x.ends[0].conn.(*conn), x.ends[1].conn.(*conn)
	var err error
	if x.region, err = x.ends[1].pd.Register([][]byte{x.memory[:100], x.memory[100:]}, both); err != nil {
		t.Fatal(err)
	}
	x.before = x.conn.hub.stats()
	return x
}

// inject makes b arrive as a packet whose source address is the argument from.
func (x *target) inject(from netip.Addr, b []byte) {
	x.conn.hub.ingress.receive([]wire.Datagrams{{From: netip.AddrPortFrom(from, wire.Port), Size: len(b), Bytes: b}})
	x.v.clock.Run(x.v.clock.Now() + time.Second)
}

// packet returns a packet to the target, changed by change, with its ICRC.
func (x *target) packet(from netip.Addr, change func(p *ibta.Packet)) []byte {
	p := ibta.Packet{BTH: ibta.BTH{
		OpCode: ibta.SendOnly, PKey: ibta.DefaultPKey, DestQP: x.conn.qpn, PSN: x.conn.rc.resp.expected, AckReq: true,
	}}
	change(&p)
	path := ibta.NewPath(netip.AddrPortFrom(from, wire.Port), x.conn.hub.attr.Local)
	return path.AppendICRC(9, p.AppendTo(nil))
}

// mad returns a packet with a CM message to the target.
func (x *target) mad(from netip.Addr, kind ibta.Attribute, body cmBody) []byte {
	m := body.AppendTo(ibta.MAD{TransactionID: 7, Attribute: kind}.AppendTo(nil))
	return x.packet(from, func(p *ibta.Packet) {
		p.OpCode, p.DestQP, p.DETH, p.Payload = ibta.UDSendOnly, ibta.GSI, ibta.DETH{QKey: ibta.GSIQKey, SrcQP: ibta.GSI}, m
	})
}

// write makes p an RDMA WRITE of b to address.
func write(p *ibta.Packet, key uint32, address uint64, b []byte) {
	p.OpCode, p.Payload = ibta.WriteOnly, b
	p.RETH = ibta.RETH{Address: address, RKey: ibta.RKey(key), Length: uint32(len(b))}
}

// hostilePacket is a packet that a device must refuse.
type hostilePacket struct {
	name    string
	from    netip.Addr // source address; the zero Addr: the peer's
	packet  func(x *target, from netip.Addr) []byte
	counted func(s *Stats)
	ends    bool
}

// evil is data that no packet may write to memory.
var evil = bytes.Repeat([]byte{0xEE}, 512)

var hostilePackets = []hostilePacket{
	{"bad ICRC", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		b := x.packet(from, func(p *ibta.Packet) { p.Payload = evil })
		b[20] ^= 1
		return b
	}, func(s *Stats) { s.BadICRC++ }, false},
	{"half a packet", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) { p.Payload = evil })[:13]
	}, func(s *Stats) { s.Malformed++ }, false},
	{"unknown operation", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) { p.OpCode = 0x0C })
	}, func(s *Stats) { s.Malformed++ }, false},
	{"unknown queue pair", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) { p.DestQP++ })
	}, func(s *Stats) { s.UnknownQP++ }, false},
	{"other partition", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) { p.PKey = 0x8001 })
	}, func(s *Stats) { s.BadPKey++ }, false},
	{"not from the peer", elsewhere, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) { p.Payload = evil })
	}, func(s *Stats) { s.Strays++ }, false},
	{"datagram to a connection", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) { p.OpCode = ibta.UDSendOnly })
	}, func(s *Stats) { s.Transport.Foreign++ }, false},
	{"PSN far ahead", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) {
			p.PSN = p.PSN.Add(1 << 22)
			write(p, x.region.RKey(), x.region.Frags(nil)[0].Address, evil)
		})
	}, func(s *Stats) { s.Transport.Ahead++ }, false},
	{"PSN far behind", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) {
			p.PSN = p.PSN.Add(-1 << 22)
			write(p, x.region.RKey(), x.region.Frags(nil)[0].Address, evil)
		})
	}, func(s *Stats) { s.Transport.Duplicates++ }, false},
	{"ACK of what was never sent", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) {
			p.OpCode, p.PSN, p.AETH = ibta.Acknowledge, x.conn.rc.req.next.Add(5), ibta.AETH{Syndrome: ibta.AckUnlimited}
		})
	}, func(s *Stats) { s.Transport.Ghosts++ }, false},
	{"wrong RKey", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) { write(p, x.region.RKey()+1, x.region.Frags(nil)[0].Address, evil) })
	}, func(s *Stats) { s.Transport.Refused++ }, true},
	{"before the region", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) { write(p, x.region.RKey(), x.region.Frags(nil)[0].Address-1, evil) })
	}, func(s *Stats) { s.Transport.Refused++ }, true},
	{"behind the region", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) { write(p, x.region.RKey(), x.region.Frags(nil)[0].Address+5000-511, evil) })
	}, func(s *Stats) { s.Transport.Refused++ }, true},
	{"length that overflows", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) { write(p, x.region.RKey(), 1<<64-100, evil) })
	}, func(s *Stats) { s.Transport.Refused++ }, true},
	{"deregistered region", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		b := x.packet(from, func(p *ibta.Packet) { write(p, x.region.RKey(), x.region.Frags(nil)[0].Address, evil) })
		x.region.Deregister()
		return b
	}, func(s *Stats) { s.Transport.Refused++; s.Regions-- }, true},
	{"region without the right", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		r := x.register(x.ends[1].pd, verbs.LocalWrite)
		return x.packet(from, func(p *ibta.Packet) { write(p, r.RKey(), r.Frags(nil)[0].Address, evil) })
	}, func(s *Stats) { s.Transport.Refused++; s.Regions++ }, true},
	{"region of another domain", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		pd, err := x.conn.dev.NewPD()
		if err != nil {
			x.t.Fatal(err)
		}
		r := x.register(pd, both)
		return x.packet(from, func(p *ibta.Packet) { write(p, r.RKey(), r.Frags(nil)[0].Address, evil) })
	}, func(s *Stats) { s.Transport.Refused++; s.Regions++ }, true},
	{"end of a message that never began", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) { p.OpCode, p.Payload = ibta.WriteLast, evil })
	}, func(s *Stats) { s.Transport.Refused++ }, true},
	{"message longer than the MTU", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) { p.Payload = make([]byte, 1028) })
	}, func(s *Stats) { s.Transport.Refused++ }, true},
	{"wrong Q_Key", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) {
			p.OpCode, p.DestQP, p.DETH, p.Payload = ibta.UDSendOnly, ibta.GSI, ibta.DETH{QKey: ibta.CMQKey}, evil
		})
	}, func(s *Stats) { s.BadQKey++ }, false},
	{"no MAD", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.packet(from, func(p *ibta.Packet) {
			p.OpCode, p.DestQP, p.DETH, p.Payload = ibta.UDSendOnly, ibta.GSI, ibta.DETH{QKey: ibta.GSIQKey}, evil
		})
	}, func(s *Stats) { s.CM.Malformed++ }, false},
	{"DREQ from elsewhere", elsewhere, func(x *target, from netip.Addr) []byte {
		return x.mad(from, ibta.AttrDREQ, &ibta.DREQ{LocalID: x.peer.id, RemoteID: x.conn.id, RemoteQPN: x.conn.qpn})
	}, func(s *Stats) { s.CM.Forged++ }, false},
	{"DREQ of another queue pair", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.mad(from, ibta.AttrDREQ, &ibta.DREQ{LocalID: x.peer.id, RemoteID: x.conn.id, RemoteQPN: x.conn.qpn + 1})
	}, func(s *Stats) { s.CM.Forged++ }, false},
	{"REJ from elsewhere", elsewhere, func(x *target, from netip.Addr) []byte {
		return x.mad(from, ibta.AttrREJ, &ibta.REJ{LocalID: x.peer.id, RemoteID: x.conn.id, Reason: ibta.RejectStale})
	}, func(s *Stats) { s.CM.Forged++ }, false},
	{"REP to the accepting side", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.mad(from, ibta.AttrREP, &ibta.REP{LocalID: x.peer.id, RemoteID: x.conn.id, QPN: 55})
	}, func(s *Stats) { s.CM.Forged++ }, false},
	{"DREQ", netip.Addr{}, func(x *target, from netip.Addr) []byte {
		return x.mad(from, ibta.AttrDREQ, &ibta.DREQ{LocalID: x.peer.id, RemoteID: x.conn.id, RemoteQPN: x.conn.qpn})
	}, func(*Stats) {}, true}, // an attacker who can send this packet can end the connection
}

// TestHostileDevice sends a device packets that it must refuse. Each is counted under its
// reason, and nothing is written. The connection goes on, or ends where rocev2 §6 demands that.
func TestHostileDevice(t *testing.T) {
	for _, tt := range hostilePackets {
		t.Run(tt.name, func(t *testing.T) {
			x := newTarget(t)
			from := tt.from
			if !from.IsValid() {
				from = peerAddr
			}
			x.inject(from, tt.packet(x, from))
			want := x.before
			tt.counted(&want)
			if tt.ends {
				want.QueuePairs--
			}
			got := x.conn.hub.stats()
			got.CM.Duplicates, got.Transport.Probes = want.CM.Duplicates, want.Transport.Probes
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error("counters (-want +got):\n", diff)
			}
			if bytes.Contains(x.memory, []byte{0xEE}) {
				t.Error("memory was written")
			}
			x.check(tt.ends)
		})
	}
}

func (x *target) register(pd verbs.PD, access verbs.Access) verbs.MR {
	x.t.Helper()
	r, err := pd.Register([][]byte{make([]byte, 4096)}, access)
	if err != nil {
		x.t.Fatal(err)
	}
	return r
}

// check checks that the connection has ended, or that it still works.
func (x *target) check(ended bool) {
	x.t.Helper()
	events := *x.events
	if ended {
		x.v.clock.Run(x.v.clock.Now() + time.Minute)
		if events = *x.events; len(events) < 3 || events[2].Kind != verbs.Disconnected || !x.conn.isEnded() {
			x.t.Errorf("%+v", events)
		}
		return
	}
	if len(events) != 2 {
		x.t.Errorf("%+v", events)
	}
	x.ends[0].left = 3
	for _, p := range x.ends {
		p.wr = []verbs.SendWR{{Op: verbs.Send, Pieces: []verbs.SGE{{Bytes: []byte("hello")}}}}
	}
	if err := x.ends[0].conn.PostSend(x.ends[0].wr); err != nil {
		x.t.Fatal(err)
	}
	x.v.clock.Run(x.v.clock.Now() + time.Second)
	select {
	case <-x.ends[0].done:
	default:
		x.t.Error("the connection does not work any more")
	}
}

// FuzzDevice sends arbitrary packets with correct ICRCs to a device with a connection: it
// does not panic, nothing is written where it must not be, and its counters add up.
func FuzzDevice(f *testing.F) {
	for _, b := range capturedPackets(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		x := newTarget(t)
		guarded := x.register(x.ends[1].pd, verbs.LocalWrite).(*region)
		for len(input) > 2 {
			n := min(int(binary.BigEndian.Uint16(input))%2048, len(input)-2)
			b := append([]byte(nil), input[2:2+n]...)
			input = input[2+n:]
			if x.conn.rc == nil {
				break
			}
			x.aim(b)
			path := ibta.NewPath(netip.AddrPortFrom(peerAddr, wire.Port), x.conn.hub.attr.Local)
			if len(b) >= ibta.BTHSize {
				b = path.AppendICRC(uint16(n), b)
			}
			x.inject(peerAddr, b)
			for _, c := range []*conn{x.conn, x.peer} {
				if err := c.rc.invariants(); err != nil {
					t.Fatal(err)
				}
				if err := c.hub.cm.cm.invariants(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if bytes.ContainsFunc(guarded.pieces[0], func(r rune) bool { return r != 0 }) {
			t.Error("memory was written")
		}
	})
}

// aim sets the fields of a packet that a fuzzer would not guess: the queue pair, a PSN near
// the expected one, and the region.
func (x *target) aim(b []byte) {
	if len(b) < ibta.BTHSize || b[4]&1 != 0 {
		return
	}
	q := uint32(x.conn.qpn)
	if ibta.OpCode(b[0]).IsUD() {
		q = uint32(ibta.GSI)
		if len(b) >= ibta.BTHSize+ibta.DETHSize {
			binary.BigEndian.PutUint32(b[12:], uint32(ibta.GSIQKey))
		}
	}
	b[2], b[3] = 0xFF, 0xFF
	b[5], b[6], b[7] = byte(q>>16), byte(q>>8), byte(q)
	psn := x.conn.rc.resp.expected.Add(int(int8(b[11])) / 32)
	b[9], b[10], b[11] = byte(psn>>16), byte(psn>>8), byte(psn)
	if ibta.OpCode(b[0]).IsWrite() && ibta.OpCode(b[0]).IsFirst() && len(b) >= ibta.BTHSize+ibta.RETHSize && b[12] < 200 {
		binary.BigEndian.PutUint64(b[12:], x.region.Frags(nil)[0].Address+uint64(b[19]))
		binary.BigEndian.PutUint32(b[20:], x.region.RKey())
	}
}
