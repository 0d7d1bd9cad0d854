package softroce

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
)

// TestSocket sends bursts from one loopback address to another, over IPv4 and
// IPv6: the kernel cuts and joins them, their ICRCs hold, and neither side
// allocates. Damaged ones are dropped.
func TestSocket(t *testing.T) {
	for _, addrs := range [][2]string{{"127.0.0.2", "127.0.0.3"}, {"::1", "::1"}} {
		t.Run(addrs[0], func(t *testing.T) {
			var s [2]*socket
			for i, a := range addrs {
				var err error
				if s[i], err = openSocket(netip.AddrPortFrom(netip.MustParseAddr(a), 0), 1<<20); err != nil {
					if i == 0 && a == "::1" {
						t.Skipf("no IPv6: %v", err)
					}
					t.Fatal(err)
				}
				defer s[i].close()
			}
			if s[0].receiveBuffer < 1<<17 || !s[0].cuts() {
				t.Errorf("receive buffer of %d bytes, segmented %v", s[0].receiveBuffer, s[0].cuts())
			}
			r := route{To: s[1].local, Class: 0x68, Path: ibta.NewPath(s[0].local, s[1].local)}
			f := framer{segmented: s[0].cuts()}
			piece := bytes.Repeat([]byte("abc."), 256)
			for i := range 100 {
				p := ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendMiddle, PKey: ibta.DefaultPKey, DestQP: 5, PSN: ibta.PSN(i)}}
				f.add(r, &p, [][]byte{piece[:500], piece[500:]})
			}
			var list []ibta.Packet
			in := newIngress(s[1].local)
			in.deliver = func(from netip.AddrPort, got []ibta.Packet) {
				if list = got; from != s[0].local {
					t.Errorf("from %v", from)
				}
			}
			receive := func() {
				list = nil
				d, err := s[1].receive()
				if err != nil {
					t.Fatal(err)
				}
				in.receive(d)
			}
			send := func(b *burst) {
				list := [1]wire.Burst{{To: b.route.To, Class: b.route.Class, Size: b.size, Segments: b.segments, Bytes: f.Bytes(b)}}
				if _, err := s[0].send(list[:]); err != nil {
					t.Fatal(err)
				}
			}
			if err := s[1].conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			next := ibta.PSN(0)
			exchange := func() {
				for next = 0; next < 100; {
					if next%62 == 0 { // one burst at a time: no buffer overruns
						send(&f.bursts[next/62])
					}
					receive()
					for i := range list {
						if p := &list[i]; p.PSN != next || !bytes.Equal(p.Payload, piece) {
							t.Fatalf("PSN %d, want %d", p.PSN, next)
						}
						next++
					}
				}
			}
			exchange()
			if n := testing.AllocsPerRun(10, exchange); n != 0 {
				t.Errorf("%v allocations", n)
			}
			f.bytes[f.bursts[1].from+20] ^= 0x10
			send(&f.bursts[1])
			for got := 0; got < 37; got += len(list) {
				if receive(); len(list) == 0 {
					t.Fatal("nothing")
				}
			}
			if n := in.badICRC.Load(); n != 1 || in.malformed.Load() != 0 {
				t.Errorf("%d datagrams with a bad ICRC", n)
			}
		})
	}
}
