package softroce

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

func routeTo(from, to string) route {
	src, dst := netip.MustParseAddrPort(from), netip.MustParseAddrPort(to)
	return route{To: dst, Path: ibta.NewPath(src, dst)}
}

// cut cuts a burst into packets as a kernel does, checks each ICRC with the identification
// that the kernel gives, and appends the payloads.
func cut(t *testing.T, f *framer, b *burst, payload []byte) []byte {
	t.Helper()
	if b.segments > mostSegments || b.to-b.from > mostBytes {
		t.Fatalf("%d segments, %d bytes", b.segments, b.to-b.from)
	}
	rest, id := f.Bytes(b), uint16(0)
	for ; len(rest) > 0; id++ {
		d := rest[:min(b.size, len(rest))]
		rest = rest[len(d):]
		if !b.route.Path.Check(id, d) {
			t.Fatalf("datagram %d of %d: ICRC", id, b.segments)
		}
		p, err := ibta.ParsePacket(d)
		if err != nil {
			t.Fatal(err)
		}
		payload = append(payload, p.Payload...)
	}
	if int(id) != b.segments {
		t.Fatalf("%d datagrams of %d", id, b.segments)
	}
	return payload
}

// TestFramer frames a WRITE and a SEND of a connection. The same bytes come out again. The first
// packet of the WRITE is longer than the second, which therefore ends the first burst. The others
// leave in as few bursts as possible.
func TestFramer(t *testing.T) {
	bulk := bytes.Repeat([]byte("0123456789abcdefg"), 4000)[:65*testMTU+1]
	for _, test := range []struct {
		name   string
		cut    bool
		bursts int
		r      route
	}{
		{"one by one", false, 67, routeTo("10.0.0.1:49152", "10.0.0.2:4791")},
		{"IPv4", true, 4, routeTo("10.0.0.1:49152", "10.0.0.2:4791")},
		{"IPv6", true, 4, routeTo("[fd00::1]:49152", "[fd00::2]:4791")},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPair(t, 1, weather{}, nil)
			p.ends[0].req.window = 128
			var out rcOutput
			p.ends[0].Step(time.Millisecond, rcInput{Post: []verbs.SendWR{p.write(0, 1, 0, bulk), send(2, []byte("done."))}}, &out)
			f := framer{segmented: test.cut}
			frame := func() {
				f.Reset()
				for i := range out.Packets {
					f.add(test.r, &out.Packets[i].Packet, out.Payload(&out.Packets[i]))
				}
			}
			frame()
			var got []byte
			for i := range f.bursts {
				got = cut(t, &f, &f.bursts[i], got)
			}
			if !bytes.Equal(got, append(bytes.Clone(bulk), "done."...)) || len(f.bursts) != test.bursts {
				t.Errorf("%d bytes in %d bursts", len(got), len(f.bursts))
			}
			if n := testing.AllocsPerRun(20, frame); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// TestFramerRoutes: packets to different destinations, of another class, or after a shorter
// one are not joined.
func TestFramerRoutes(t *testing.T) {
	a, b := routeTo("10.0.0.1:49152", "10.0.0.2:4791"), routeTo("10.0.0.1:49152", "10.0.0.3:4791")
	urgent := a
	urgent.Class = 0x68
	f := framer{segmented: true}
	for _, step := range []struct {
		r route
		n int
	}{{a, 8}, {a, 8}, {b, 8}, {a, 8}, {urgent, 8}, {urgent, 4}, {urgent, 4}, {urgent, 8}, {urgent, 3}} {
		p := ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendOnly, PKey: ibta.DefaultPKey}}
		f.add(step.r, &p, [][]byte{make([]byte, step.n)})
	}
	var segments []int
	for i := range f.bursts {
		cut(t, &f, &f.bursts[i], nil)
		segments = append(segments, f.bursts[i].segments)
	}
	// The packets to urgent make three bursts: with payloads of 8 and 4 bytes; of 4 bytes alone, because
	// a longer packet follows; of 8 and 3 bytes, where the 3 bytes are padded to 4.
	want := []int{2, 1, 1, 2, 1, 2}
	if len(segments) != len(want) {
		t.Fatalf("bursts of %v", segments)
	}
	for i, n := range want {
		if segments[i] != n {
			t.Fatalf("bursts of %v, want %v", segments, want)
		}
	}
}
