package softroce

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
)

// TestHostileDatagrams: datagrams that are not for the queue pair are dropped and counted, and
// the next good one is received.
func TestHostileDatagrams(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{})
	l := openListener(t, v.open, v.clock, "10.0.0.2", nil)
	good := ibta.Packet{
		BTH:  ibta.BTH{OpCode: ibta.UDSendOnly, PKey: ibta.DefaultPKey, DestQP: ibta.MulticastQPN},
		DETH: ibta.DETH{QKey: testQKey, SrcQP: 5}, Payload: make([]byte, 8),
	}
	self := netip.MustParseAddr("10.0.0.2")
	for _, tt := range []struct {
		name   string
		bend   func(p *ibta.Packet)
		from   netip.Addr
		node   bool // the packet goes to the node's address, not to the group's
		damage bool
		want   Stats // the counters that the packet changes
	}{
		{name: "to the node", bend: func(p *ibta.Packet) { p.DestQP = l.qp.qpn }, node: true, want: Stats{Datagrams: UDStats{Received: 1}}},
		{name: "group's number to the node", node: true, want: Stats{UnknownQP: 1}},
		{name: "number of the queue pair to the group", bend: func(p *ibta.Packet) { p.DestQP = l.qp.qpn }, want: Stats{Groups: GroupStats{Strays: 1}}},
		{name: "Q_Key", bend: func(p *ibta.Packet) { p.DETH.QKey++ }, want: Stats{Datagrams: UDStats{BadQKey: 1}}},
		{name: "Q_Key of QP 1", bend: func(p *ibta.Packet) { p.DETH.QKey = ibta.GSIQKey }, want: Stats{Datagrams: UDStats{BadQKey: 1}}},
		{name: "immediate data", bend: func(p *ibta.Packet) { p.OpCode = ibta.UDSendOnlyImm }, want: Stats{Datagrams: UDStats{Foreign: 1}}},
		{name: "RC to the group", bend: func(p *ibta.Packet) { p.OpCode = ibta.SendOnly }, want: Stats{Datagrams: UDStats{Foreign: 1}}},
		{name: "WRITE to the queue pair", bend: func(p *ibta.Packet) { p.OpCode, p.DestQP = ibta.WriteOnly, l.qp.qpn }, node: true, want: Stats{Datagrams: UDStats{Foreign: 1}}},
		{name: "longer than a buffer", bend: func(p *ibta.Packet) { p.Payload = make([]byte, 1001) }, want: Stats{Datagrams: UDStats{TooLong: 1}}},
		{name: "in its own name", bend: func(p *ibta.Packet) { p.DETH.SrcQP = l.qp.qpn }, from: self, want: Stats{Datagrams: UDStats{Own: 1}}},
		{name: "of its node", from: self, want: Stats{Datagrams: UDStats{Received: 1}}},
		{name: "of another's queue pair of this number", bend: func(p *ibta.Packet) { p.DETH.SrcQP = l.qp.qpn }, want: Stats{Datagrams: UDStats{Received: 1}}},
		{name: "P_Key", bend: func(p *ibta.Packet) { p.PKey = 0x8001 }, want: Stats{Groups: GroupStats{BadPKey: 1}}},
		{name: "ICRC", damage: true, want: Stats{Groups: GroupStats{BadICRC: 1}}},
		{name: "ICRC, to the node", damage: true, node: true, want: Stats{BadICRC: 1}},
	} {
		p := good
		if tt.bend != nil {
			tt.bend(&p)
		}
		from := tt.from
		if !from.IsValid() {
			from = netip.MustParseAddr("10.0.0.1")
		}
		before, arrived := l.qp.hub.stats(), len(l.got)
		l.inject(from, &p, tt.node, tt.damage)
		after := l.qp.hub.stats()
		if diff := cmp.Diff(tt.want, difference(before, after)); diff != "" {
			t.Errorf("%s: counted (-want +got)\n%s", tt.name, diff)
		}
		p = good
		l.inject(netip.MustParseAddr("10.0.0.1"), &p, false, false)
		if want := arrived + 1 + int(tt.want.Datagrams.Received); len(l.got) != want {
			t.Errorf("%s: %d have arrived, want %d", tt.name, len(l.got), want)
		}
	}
	empty := make([]verbs.Buffer, 2)
	for i := range empty {
		empty[i], _ = l.qp.pool.Take()
	}
	p := good
	l.inject(netip.MustParseAddr("10.0.0.1"), &p, false, false)
	if got := l.qp.hub.stats().Datagrams.NoBuffer; got != 1 {
		t.Errorf("%d found no buffer", got)
	}
	l.qp.Close()
	l.inject(netip.MustParseAddr("10.0.0.1"), &p, false, false)
	if got := l.qp.counters.late.Load(); got != 1 {
		t.Errorf("%d came too late", got)
	}
}

// inject makes a packet arrive, at the port of the group or of the node.
func (l *udListener) inject(from netip.Addr, p *ibta.Packet, node, damage bool) {
	l.injectBytes(from, node, func(path ibta.Path) []byte {
		b := path.AppendICRC(0, p.AppendTo(nil))
		if damage {
			b[len(b)-1] ^= 1
			b[len(b)-5] ^= 1
		}
		return b
	})
}

func (l *udListener) injectBytes(from netip.Addr, node bool, packet func(ibta.Path) []byte) {
	h := l.qp.hub
	in := h.ingress
	if !node {
		in = l.in()
	}
	src := netip.AddrPortFrom(from, wire.Port)
	b := packet(ibta.NewPath(src, in.local))
	in.receive([]wire.Datagrams{{From: src, Size: max(len(b), 1), Bytes: b}})
}

// in returns the receiving half of the group, also after the device has left the group.
func (l *udListener) in() *ingress {
	l.qp.hub.groups.mu.Lock()
	defer l.qp.hub.groups.mu.Unlock()
	if g := l.qp.hub.groups.list[testGroup]; g != nil {
		return g.in
	}
	g := &group{addr: testGroup, in: newIngress(netip.AddrPortFrom(testGroup, wire.Port))}
	g.in.deliver = g.arrived
	g.set([]*ud{l.qp})
	return g.in
}

// difference returns the counters that changed from a to b.
func difference(a, b Stats) Stats {
	return Stats{
		BadICRC: b.BadICRC - a.BadICRC, Malformed: b.Malformed - a.Malformed, BadPKey: b.BadPKey - a.BadPKey, UnknownQP: b.UnknownQP - a.UnknownQP,
		Strays: b.Strays - a.Strays, BadQKey: b.BadQKey - a.BadQKey,
		Groups: GroupStats{
			BadICRC: b.Groups.BadICRC - a.Groups.BadICRC, Malformed: b.Groups.Malformed - a.Groups.Malformed,
			BadPKey: b.Groups.BadPKey - a.Groups.BadPKey, Strays: b.Groups.Strays - a.Groups.Strays,
		},
		Datagrams: UDStats{
			Received: b.Datagrams.Received - a.Datagrams.Received, BadQKey: b.Datagrams.BadQKey - a.Datagrams.BadQKey,
			Own: b.Datagrams.Own - a.Datagrams.Own, Foreign: b.Datagrams.Foreign - a.Datagrams.Foreign,
			TooLong: b.Datagrams.TooLong - a.Datagrams.TooLong, NoBuffer: b.Datagrams.NoBuffer - a.Datagrams.NoBuffer,
			Late: b.Datagrams.Late - a.Datagrams.Late,
		},
	}
}

// FuzzDatagrams: each datagram that arrives, sent to a group or to the node, is counted exactly once,
// and nothing panics.
func FuzzDatagrams(f *testing.F) {
	good := ibta.Packet{
		BTH:  ibta.BTH{OpCode: ibta.UDSendOnly, PKey: ibta.DefaultPKey, DestQP: ibta.MulticastQPN},
		DETH: ibta.DETH{QKey: testQKey, SrcQP: 5}, Payload: []byte("12345678 and more"),
	}
	f.Add(good.AppendTo(nil), true)
	good.OpCode = ibta.UDSendOnlyImm
	f.Add(good.AppendTo(nil), true)
	f.Add([]byte("short"), false)
	l := openListener(f, NewOpener(Options{Network: sink{}}), machine.RealClock(), "10.0.0.1", nil)
	l.qp.recvs.done = func(c []verbs.Completion) {
		for i := range c {
			l.qp.pool.Return(c[i].Buffer)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, right bool) {
		for _, node := range []bool{false, true} {
			before := l.qp.hub.stats()
			l.injectBytes(netip.MustParseAddr("10.0.0.9"), node, func(p ibta.Path) []byte {
				if right && len(b) >= ibta.BTHSize {
					return p.AppendICRC(0, slices.Clone(b))
				}
				return b
			})
			d := difference(before, l.qp.hub.stats())
			u, g := d.Datagrams, d.Groups
			sum := d.BadICRC + d.Malformed + d.BadPKey + d.UnknownQP + d.BadQKey + g.BadICRC + g.Malformed + g.BadPKey + g.Strays +
				u.Received + u.BadQKey + u.Own + u.Foreign + u.TooLong + u.NoBuffer
			if gsi := node && right && len(b) >= 8 && uint32(b[5])<<16|uint32(b[6])<<8|uint32(b[7]) == uint32(ibta.GSI); sum != 1 && len(b) > 0 && !gsi {
				t.Fatalf("counted %+v for %x", d, b)
			}
		}
	})
}
