package softroce

import (
	"net/netip"
	"testing"

	"ulnet/lnd/verbs/ibta"
)

// TestUnknownReported: a device reports the senders of requests of reliable connections to a
// queue pair that it never had. It reports no other packet for unknown queue pairs: such
// packets may be late, answers, or noise.
func TestUnknownReported(t *testing.T) {
	x := newTarget(t)
	var heard []netip.Addr
	x.conn.hub.demux.report = func(from netip.Addr) { heard = append(heard, from) }
	send := func(from netip.Addr, change func(p *ibta.Packet)) int {
		t.Helper()
		heard = nil
		x.inject(from, x.packet(from, change))
		for _, a := range heard {
			if a != from {
				t.Errorf("reports %v, not %v", a, from)
			}
		}
		return len(heard)
	}
	never, latest := x.conn.hub.demux.next, x.conn.hub.demux.next-1
	to := func(q ibta.QPN, op ibta.OpCode) func(p *ibta.Packet) {
		return func(p *ibta.Packet) { p.DestQP, p.OpCode = q, op }
	}
	for _, tt := range []struct {
		name   string
		change func(p *ibta.Packet)
		want   int
	}{
		{"SEND", to(never, ibta.SendOnly), 1},
		{"end of a WRITE", to(never, ibta.WriteLast), 1},
		{"far away", to(never+1<<20, ibta.SendFirst), 1},
		{"answer", to(never, ibta.Acknowledge), 0},
		{"datagram", to(never, ibta.UDSendOnly), 0},
		{"number that is none", to(0, ibta.SendOnly), 0},
		{"number of all groups", to(ibta.MulticastQPN, ibta.SendOnly), 0},
		{"connection", to(x.conn.qpn, ibta.SendOnly), 0},
		{"other partition", func(p *ibta.Packet) { p.DestQP, p.PKey = never, 0x8001 }, 0},
	} {
		if n := send(elsewhere, tt.change); n != tt.want {
			t.Errorf("%s: %d reports, want %d", tt.name, n, tt.want)
		}
	}
	x.conn.Close()
	x.v.clock.Run(x.v.clock.Now() + 1)
	before := x.conn.hub.demux.unknownQP.Load()
	if n := send(peerAddr, to(latest, ibta.SendOnly)); n != 0 || x.conn.hub.demux.unknownQP.Load() != before+1 {
		t.Errorf("%d reports of late packets to a connection that is closed", n)
	}
}

// TestHadNumbers: the method had knows which numbers a device has used, also after its numbers
// wrap around.
func TestHadNumbers(t *testing.T) {
	d := newDemultiplexer(ibta.MulticastQPN - 2)
	for range 4 { // reserves 0xFFFFFD, 0xFFFFFE, 2 and 3: 0 and 1 cannot be queue pairs of connections
		d.reserve()
	}
	for q, want := range map[ibta.QPN]bool{
		ibta.MulticastQPN - 3: false, ibta.MulticastQPN - 2: true, ibta.MulticastQPN - 1: true, 2: true, 3: true, 4: false,
		1000: false, ibta.MulticastQPN: true,
	} {
		if d.had(q) != want {
			t.Errorf("%#x: had %v", uint32(q), !want)
		}
	}
	d.given = int(ibta.MulticastQPN)
	if !d.had(d.next) || !d.had(1000) {
		t.Error("after all numbers one is unknown")
	}
}
