package ibta_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/verbs/ibta"
)

// vectors are packets from other sources: a congestion packet of a ConnectX-4 Lx, published
// with its ICRC; a published UC packet; and packets computed by an independent program.
var vectors = []struct{ name, hex string }{
	{"ConnectX-4 CNP", `45c2003c718c4000401191610a0011010a001201 000012b700280000
		8100ffff4000011800000000 00000000000000000000000000000000 82fd002a`},
	{"UC SEND ONLY with padding", `450100400478400040110000c0a80007c0a80007 c00012b7002c0000
		2460ffff000000d300cf1710 4630818be28935d90e9a95505401be885e500000 78f353f3`},
	{"rxe ACK", `45000030386540004011eda50a5800020a580001 ffbd12b7001c0000 1100ffff00004241003a105f 1f000001 91ba511e`},
	{"NOOP", `4500005c000040004011267b0a0a00010a0a0002 c00012b700480000 0440ffff0000001280654321
		911be90b1200d004300000000000000001000a0a0000050000105a5a3c43060002000a0a0000050000206b6b3c430600 6b510491`},
	{"ACK", `450000300000400040 1126a70a0a00020a0a0001 c00012b7001c0000 1140ffff0000001100654321 1f000001 c3c0c9b3`},
	{"ACK over IPv6", `60000000001c1140fd000000000000000000000000000002fd000000000000000000000000000001
		c00012b7001c0000 1140ffff0000001100654321 1f000001 18ae8927`},
}

func vectorPackets(t testing.TB) (list []ipPacket) {
	for _, v := range vectors {
		list = append(list, split(t, v.name, unhex(t, v.hex)))
	}
	return list
}

// TestICRC: for published and captured packets, three ways to get the ICRC agree with the
// packet: from the packet's own headers, from a Path, and from a Path when the IP
// identification is unknown.
func TestICRC(t *testing.T) {
	for _, p := range append(vectorPackets(t), captured(t)...) {
		body := p.roce[:len(p.roce)-ibta.ICRCSize]
		if got, err := ibta.ICRC(p.ip, p.udp, body); err != nil || got != p.icrc() {
			t.Errorf("%s: ICRC %#08x, %v, want %#08x", p.name, got, err, p.icrc())
		}
		path := p.path()
		if got := path.ICRC(p.id(), body); got != p.icrc() {
			t.Errorf("%s: ICRC of the path %#08x, want %#08x", p.name, got, p.icrc())
		}
		if !path.Check(p.id(), p.roce) || path.Check(p.id()^1, p.roce) && !p.v6() {
			t.Errorf("%s: Check", p.name)
		}
		if id, ok := path.CheckAny(p.roce); !ok || id != p.id() {
			t.Errorf("%s: identification %#x, %v, want %#x", p.name, id, ok, p.id())
		}
		if again := path.AppendICRC(p.id(), body[:len(body):len(body)]); string(again) != string(p.roce) {
			t.Errorf("%s: appended % x", p.name, again[len(body):])
		}
	}
}

// TestICRCOfDamage: damage to any single bit that the ICRC covers is found. If the identification
// is unknown, and so computed from the ICRC, about one of 65536 packets with many damaged bits
// passes.
func TestICRCOfDamage(t *testing.T) {
	p := split(t, "NOOP", unhex(t, vectors[3].hex))
	path := p.path()
	for i := range p.roce {
		for bit := range 8 {
			damaged := append([]byte{}, p.roce...)
			damaged[i] ^= 1 << bit
			const masked = 4 // offset of the byte with FECN and BECN
			if ok := path.Check(0, damaged); ok != (i == masked) {
				t.Errorf("byte %d, bit %d: Check %v", i, bit, ok)
			}
			if _, ok := path.CheckAny(damaged); ok != (i == masked) {
				t.Errorf("byte %d, bit %d: CheckAny %v", i, bit, ok)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	passed := 0
	const rounds = 1 << 17
	for range rounds {
		damaged := append([]byte{}, p.roce...)
		for i := 12; i < len(damaged); i++ {
			damaged[i] ^= byte(rng.Uint32())
		}
		if _, ok := path.CheckAny(damaged); ok {
			passed++
		}
		if _, ok := path.CheckNear(uint16(passed+1), damaged); ok {
			passed++
		}
	}
	if passed > 16 { // about 4 are expected to pass by chance
		t.Errorf("%d of %d damaged packets pass", passed, rounds)
	}
}

// TestICRCSolved: the identification in the IPv4 header of a packet, which UDP sockets do not show, is found
// from the ICRC. The test tries each identification once, with packets of varying lengths.
func TestICRCSolved(t *testing.T) {
	path := ibta.NewPath(netip.MustParseAddrPort("10.0.0.1:49152"), netip.MustParseAddrPort("10.0.0.2:4791"))
	b := make([]byte, 4096+64)
	for i := range b {
		b[i] = byte(i * 7)
	}
	for id := range 1 << 16 {
		n := ibta.BTHSize + id%4100
		packet := path.AppendICRC(uint16(id), b[:n:n])
		if got, ok := path.CheckAny(packet); !ok || got != uint16(id) {
			t.Fatalf("%d bytes: identification %d, %v, want %d", n, got, ok, id)
		}
		for _, likely := range []uint16{uint16(id), uint16(id * 40503)} {
			if got, ok := path.CheckNear(likely, packet); !ok || got != uint16(id) {
				t.Fatalf("%d bytes, likely %d: identification %d, %v, want %d", n, likely, got, ok, id)
			}
		}
	}
}

func TestICRCShort(t *testing.T) {
	p := split(t, "ACK", unhex(t, vectors[4].hex))
	path := p.path()
	for n := range len(p.roce) {
		if path.Check(0, p.roce[:n]) {
			t.Errorf("%d bytes pass", n)
		}
		if _, ok := path.CheckAny(p.roce[:n]); ok {
			t.Errorf("%d bytes pass for some identification", n)
		}
	}
	if _, ok := path.CheckAny(make([]byte, 1<<16)); ok {
		t.Error("64 KiB pass")
	}
	for _, parts := range [][3][]byte{
		{nil, p.udp, p.roce},
		{p.ip[:19], p.udp, p.roce},
		{append(p.ip[:20:20], 1, 1, 1, 1), p.udp, p.roce},
		{p.ip, p.udp[:7], p.roce},
		{p.ip, p.udp, p.roce[:11]},
		{{0x60, 19: 0}, p.udp, p.roce},
	} {
		if _, err := ibta.ICRC(parts[0], parts[1], parts[2]); err != ibta.ErrShort {
			t.Errorf("%d, %d, %d bytes: %v", len(parts[0]), len(parts[1]), len(parts[2]), err)
		}
	}
}

func FuzzICRC(f *testing.F) {
	for _, p := range vectorPackets(f) {
		f.Add(p.roce, uint16(7))
	}
	src, dst := netip.MustParseAddrPort("10.0.0.1:49152"), netip.MustParseAddrPort("10.0.0.2:4791")
	path := ibta.NewPath(src, dst)
	f.Fuzz(func(t *testing.T, b []byte, id uint16) {
		path.Check(id, b)
		path.CheckAny(b)
		if len(b) < ibta.BTHSize || len(b) > 4096+64 {
			return
		}
		packet := path.AppendICRC(id, b[:len(b):len(b)])
		if got, ok := path.CheckAny(packet); !ok || got != id || !path.Check(id, packet) {
			t.Fatalf("identification %d, %v, want %d", got, ok, id)
		}
	})
}

// BenchmarkICRC measures how fast the ICRCs of packets of several sizes are computed. Goal G-IB-3 is
// 12 GB/s for packets of 1 KiB.
func BenchmarkICRC(b *testing.B) {
	spec.Covers(b, "G-IB-3")
	path := ibta.NewPath(netip.MustParseAddrPort("10.0.0.1:49152"), netip.MustParseAddrPort("10.0.0.2:4791"))
	for _, size := range []struct {
		name string
		n    int
	}{{"64", 64}, {"1K", 1024}, {"4K", 4096}} {
		packet := make([]byte, ibta.BTHSize+size.n, 8192)
		b.Run("send/"+size.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size.n))
			for b.Loop() {
				path.AppendICRC(1, packet)
			}
		})
		whole := path.AppendICRC(9, packet)
		b.Run("receive likely/"+size.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size.n))
			for b.Loop() {
				if _, ok := path.CheckNear(9, whole); !ok {
					b.Fatal("bad")
				}
			}
		})
		b.Run("receive/"+size.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size.n))
			for b.Loop() {
				if _, ok := path.CheckAny(whole); !ok {
					b.Fatal("bad")
				}
			}
		})
	}
}
