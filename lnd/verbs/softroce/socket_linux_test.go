package softroce

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs/ibta"
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
			if s[0].receiveBuffer < 1<<17 || !s[0].segmented {
				t.Errorf("receive buffer of %d bytes, segmented %v", s[0].receiveBuffer, s[0].segmented)
			}
			r := route{To: s[1].local, Class: 0x68, Path: ibta.NewPath(s[0].local, s[1].local)}
			f := framer{segmented: s[0].segmented}
			piece := bytes.Repeat([]byte("abc."), 256)
			for i := range 100 {
				p := ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendMiddle, PKey: ibta.DefaultPKey, DestQP: 5, PSN: ibta.PSN(i)}}
				f.add(r, &p, [][]byte{piece[:500], piece[500:]})
			}
			if err := s[1].conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			var list []ibta.Packet
			next := ibta.PSN(0)
			exchange := func() {
				for next = 0; next < 100; {
					if next%62 == 0 { // one burst at a time: no buffer overruns
						if err := s[0].send(&f, &f.bursts[next/62]); err != nil {
							t.Fatal(err)
						}
					}
					var from netip.AddrPort
					var err error
					if list, from, err = s[1].receive(list[:0]); err != nil {
						t.Fatal(err)
					}
					for i := range list {
						if p := &list[i]; p.PSN != next || !bytes.Equal(p.Payload, piece) || from != s[0].local {
							t.Fatalf("PSN %d, want %d, from %v", p.PSN, next, from)
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
			if err := s[0].send(&f, &f.bursts[1]); err != nil {
				t.Fatal(err)
			}
			for got := 0; got < 37; got += len(list) {
				if list, _, _ = s[1].receive(list[:0]); len(list) == 0 {
					t.Fatal("nothing")
				}
			}
			if c := s[1].counters; c != (socketCounters{BadICRC: 1}) {
				t.Errorf("%+v", c)
			}
		})
	}
}
