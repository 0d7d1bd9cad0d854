package nid

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"unsafe"
)

func TestSize(t *testing.T) {
	if got := unsafe.Sizeof(NID{}); got != 20 {
		t.Errorf("a NID has %d bytes, want 20", got)
	}
}

func TestSpecials(t *testing.T) {
	v6 := MustParse("2001:db8::1@tcp")
	tests := []struct {
		name                    string
		nid                     NID
		is4, isAny, isLo, valid bool
		net                     Net
		addrLen                 int
	}{
		{"zero", NID{}, true, false, false, false, Net{}, 4},
		{"any", Any(), false, true, false, true, anyNet(), 16},
		{"0@lo", Lo0(), true, false, true, true, MakeNet(Lo, 0), 4},
		{"lo with an address", From4(0x0009000000000001), true, false, false, true, MakeNet(Lo, 0), 4},
		{"lo with a number", From4(0x0009000100000000), true, false, false, true, MakeNet(Lo, 1), 4},
		{"ipv4", MustParse("10.0.0.1@tcp3"), true, false, false, true, MakeNet(TCP, 3), 4},
		{"ipv6", v6, false, false, false, true, MakeNet(TCP, 0), 16},
		{"unknown type", From4(0x00C8000700000001), true, false, false, true, MakeNet(200, 7), 4},
		{"type 0", From4(1), true, false, false, false, Net{}, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := tt.nid
			if n.Is4() != tt.is4 || n.IsAny() != tt.isAny || n.IsLo() != tt.isLo || n.IsValid() != tt.valid {
				t.Errorf("Is4 %v IsAny %v IsLo %v IsValid %v", n.Is4(), n.IsAny(), n.IsLo(), n.IsValid())
			}
			if n.Net() != tt.net || n.AddrLen() != tt.addrLen {
				t.Errorf("Net %v AddrLen %d, want %v %d", n.Net(), n.AddrLen(), tt.net, tt.addrLen)
			}
		})
	}
}

func TestFrom4(t *testing.T) {
	tests := []struct {
		name  string
		value uint64
		want  NID
		back  uint64
	}{
		{"zero", 0, NID{}, 0},
		{"ipv4", 0x00020003C0A8010A, MustParse("192.168.1.10@tcp3"), 0x00020003C0A8010A},
		{"0@lo", 0x0009000000000000, Lo0(), 0x0009000000000000},
		{"any", 1<<64 - 1, Any(), 1<<64 - 1},
		{"type 0xFF is any", 0x00FF000100000002, Any(), 1<<64 - 1},
		{"top byte is ignored", 0x0C02000000000001, MustParse("0.0.0.1@tcp"), 0x0002000000000001},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := From4(tt.value)
			if got != tt.want || got.Value4() != tt.back {
				t.Errorf("From4(%#x) = %v, %#x, want %v, %#x", tt.value, got, got.Value4(), tt.want, tt.back)
			}
		})
	}
}

func TestAddr(t *testing.T) {
	tcp, gni := MakeNet(TCP, 3), MakeNet(GNI, 0)
	tests := []struct {
		name string
		net  Net
		addr string
		want string // NID of the address; empty: the zero NID
		back string // result of Addr for that NID
	}{
		{"ipv4", tcp, "10.0.0.1", "10.0.0.1@tcp3", "10.0.0.1"},
		{"ipv6", tcp, "2001:db8::1", "2001:db8::1@tcp3", "2001:db8::1"},
		{"mapped", tcp, "::ffff:10.0.0.1", "10.0.0.1@tcp3", "10.0.0.1"},
		{"zone", tcp, "fe80::1%eth0", "fe80::1@tcp3", "fe80::1"},
		{"ipv4 in o2ib", MakeNet(O2IB, 0), "10.0.0.1", "10.0.0.1@o2ib", "10.0.0.1"},
		{"mapped in o2ib", MakeNet(O2IB, 0), "::ffff:10.0.0.1", "10.0.0.1@o2ib", "10.0.0.1"},
		{"ipv6 in o2ib", MakeNet(O2IB, 0), "2001:db8::1", "", ""},
		{"numeric net", gni, "10.0.0.1", "", ""},
		{"loopback net", MakeNet(Lo, 0), "127.0.0.1", "", ""},
		{"zero net", Net{}, "10.0.0.1", "", ""},
		{"any net", anyNet(), "10.0.0.1", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want NID
			var back netip.Addr
			if tt.want != "" {
				want, back = MustParse(tt.want), netip.MustParseAddr(tt.back)
			}
			got := FromAddr(tt.net, netip.MustParseAddr(tt.addr))
			if got != want || got.Addr() != back {
				t.Errorf("FromAddr = %v, its Addr %v, want %v, %v", got, got.Addr(), want, back)
			}
		})
	}
	if got := FromAddr(tcp, netip.Addr{}); got != (NID{}) {
		t.Errorf("invalid address gives %v", got)
	}
	for _, n := range []NID{{}, Any(), Lo0(), FromNumber(gni, 7)} {
		if n.Addr().IsValid() {
			t.Errorf("%v has the address %v", n, n.Addr())
		}
	}
	short, _, err := ParseExtended([]byte{3, 2, 0, 0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	if err != nil || short.Addr().IsValid() {
		t.Errorf("seven bytes are the address %v, %v", short.Addr(), err)
	}
}

func TestFromNumber(t *testing.T) {
	tests := []struct {
		name   string
		net    Net
		number uint32
		want   NID
	}{
		{"gni", MakeNet(GNI, 1), 31, MustParse("31@gni1")},
		{"tcp", MakeNet(TCP, 0), 0x0A000001, MustParse("10.0.0.1@tcp")},
		{"lo", MakeNet(Lo, 0), 7, Lo0()},
		{"any", anyNet(), 7, Any()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := FromNumber(tt.net, tt.number); got != tt.want {
				t.Errorf("FromNumber = %v, want %v", got, tt.want)
			}
		})
	}
	if got := MustParse("0x1f@gni").Number(); got != 31 {
		t.Errorf("Number = %d, want 31", got)
	}
	if got := MustParse("10.0.0.1").Number(); got != 0x0A000001 {
		t.Errorf("Number = %#x", got)
	}
}

func TestCompare(t *testing.T) {
	ordered := []NID{
		{},
		MustParse("9.255.255.255@tcp"),
		MustParse("10.0.0.1@tcp"),
		MustParse("200.0.0.1@tcp"), // addresses are compared as unsigned numbers
		MustParse("10.0.0.1@tcp1"),
		MustParse("10.0.0.1@o2ib"),
		Lo0(),
		MustParse("2001:db8::1@tcp"),
		MustParse("2001:db8::2@tcp"),
		MustParse("2001:db9::1@tcp"),
		Any(),
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := a.Compare(b), sign(i-j); got != want {
				t.Errorf("%v.Compare(%v) = %d, want %d", a, b, got, want)
			}
			if (a == b) != (i == j) {
				t.Errorf("%v == %v is %v", a, b, a == b)
			}
		}
	}
	shuffled := slices.Clone(ordered)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, NID.Compare)
	if !slices.Equal(shuffled, ordered) {
		t.Errorf("sorted to %v", shuffled)
	}
}

func TestAllocates(t *testing.T) {
	b := MustParse("2001:db8::1@tcp").AppendExtended(nil)
	var n NID
	got := testing.AllocsPerRun(100, func() {
		n, _, _ = ParseExtended(b)
		b = n.AppendExtended(b[:0])
		n = From4(n.Value4() | 0x0002000000000001)
		n = FromAddr(n.Net(), n.Addr())
	})
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// TestHash: the hashes of consecutive addresses, short or long, differ in their low bits.
func TestHash(t *testing.T) {
	for _, prefix := range []string{"10.0.0.", "fd00::"} {
		seen := map[uint32]string{}
		for i := range 8 {
			n := MustParse(fmt.Sprintf("%s%d@tcp", prefix, i))
			if other, ok := seen[n.Hash()%8]; ok {
				t.Errorf("%v and %v have the same low bits", n, other)
			}
			seen[n.Hash()%8] = n.String()
		}
	}
}
