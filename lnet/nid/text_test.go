package nid

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	tests := []struct {
		text    string
		value   uint64 // the NID as a nid4
		printed string
	}{
		{"10.0.0.1", 0x00020000_0A000001, "10.0.0.1@tcp"},
		{"10.0.0.1@tcp", 0x00020000_0A000001, "10.0.0.1@tcp"},
		{"10.0.0.1@tcp0", 0x00020000_0A000001, "10.0.0.1@tcp"},
		{"192.168.1.10@tcp3", 0x00020003_C0A8010A, "192.168.1.10@tcp3"},
		{"255.255.255.255@tcp65535", 0x0002FFFF_FFFFFFFF, "255.255.255.255@tcp65535"},
		{"0.0.0.0@tcp", 0x00020000_00000000, "0.0.0.0@tcp"},
		{"127.0.0.1@tcp", 0x00020000_7F000001, "127.0.0.1@tcp"},
		{"010.000.0.001@tcp", 0x00020000_0A000001, "10.0.0.1@tcp"}, // leading zeros: decimal, not octal
		{"10.0.0.1@o2ib", 0x00050000_0A000001, "10.0.0.1@o2ib"},
		{"0@lo", 0x00090000_00000000, "0@lo"},
		{"7@lo", 0x00090000_00000000, "0@lo"},
		{"anything@lo", 0x00090000_00000000, "0@lo"},
		{"@lo", 0x00090000_00000000, "0@lo"},
		{"12@gni3", 0x000D0003_0000000C, "12@gni3"},
		{"0@gni", 0x000D0000_00000000, "0@gni"},
		{"4294967295@gni", 0x000D0000_FFFFFFFF, "4294967295@gni"},
		{"0x1f@kfi", 0x00100000_0000001F, "31@kfi"},
		{"0X1F@kfi", 0x00100000_0000001F, "31@kfi"},
		{"31@gm", 0x00030000_0000001F, "0x1f@gm"},
		{"5@ptl2", 0x00040002_00000005, "5@ptl2"},
		{"5@ptlf2", 0x000F0002_00000005, "5@ptlf2"},
		{"<?>", 0xFFFFFFFF_FFFFFFFF, "<?>"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			n, err := Parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if n.Value4() != tt.value || n != From4(tt.value) {
				t.Errorf("value %#016x, want %#016x", n.Value4(), tt.value)
			}
			if n.String() != tt.printed {
				t.Errorf("prints %q, want %q", n, tt.printed)
			}
		})
	}
}

func TestParseIPv6(t *testing.T) {
	tests := []struct{ text, printed string }{
		{"2001:db8::1", "2001:db8::1@tcp"},
		{"2001:db8::1@tcp", "2001:db8::1@tcp"},
		{"2001:0DB8:0:0:0:0:0:1@tcp4", "2001:db8::1@tcp4"},
		{"fe80::1@tcp", "fe80::1@tcp"},
		{"::@tcp", "::@tcp"},
		{"::1@tcp", "::1@tcp"},
		{"::ffff:10.0.0.1@tcp", "::ffff:10.0.0.1@tcp"}, // an IPv4-mapped address stays an IPv6 NID
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			n, err := Parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if n.Is4() || n.AddrLen() != 16 || n.Value4() != 0 {
				t.Errorf("Is4 %v, AddrLen %d, Value4 %#x", n.Is4(), n.AddrLen(), n.Value4())
			}
			if n.String() != tt.printed {
				t.Errorf("prints %q, want %q", n, tt.printed)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		text string
		want error
	}{
		{"", errAddress},
		{"10.0.0.1@", errNet},
		{"10.0.0.1@foo", errNet},
		{"10.0.0.1@tcpx", errNet},
		{"10.0.0.1@tcp@tcp", errNet}, // the text is split at the first @
		{"10.0.0.1@tcp70000", errNetNumber},
		{"10.0.0.1@tcp65536", errNetNumber},
		{"0@lo1", errNet},
		{"c0a80101@<17:0", errNet},
		{"c0a80101@<17>", errNet},
		{"c0a80101@<256:0>", errNet},
		{"c0a80101@<+17:0>", errNet},
		{"c0a80101@<17:x>", errNet},
		{"c0a80101@<17:65536>", errNetNumber},
		{"c0a80101@17:0", errNet},
		{"@<17:0>", errAddress},
		{"c0a801011@<17:0>", errAddress},
		{"0x1@<17:0>", errAddress},
		{"1:@<17:0>", errAddress},
		{"1:2:3:4:5@<17:0>", errAddress},
		{"1:2/4@<17:0>", errAddress},
		{"1:2/9@<17:0>", errAddress},
		{"1:2/x@<17:0>", errAddress},
		{"1/3@<17:0>", errAddress},
		{"1:200/6@<17:0>", errAddress}, // the second word has three bytes, the text says that the address ends after two of them
		{"g@<255:0>", errAddress},
		{"@tcp", errAddress},
		{"@gni", errAddress},
		{"10.0.0@tcp", errAddress},
		{"10.0.0.@tcp", errAddress},
		{"10..0.1@tcp", errAddress},
		{"10.0.0.256@tcp", errAddress},
		{"10.0.0.1.1@tcp", errAddress},
		{"10.0.0.1.@tcp", errAddress},
		{"10.0.0.1 @tcp", errAddress},
		{" 10.0.0.1@tcp", errAddress},
		{"10.0.0.-1@tcp", errAddress},
		{"10.0.0.+1@tcp", errAddress},
		{"10.0.0.0x1@tcp", errAddress},
		{"167772161@tcp", errAddress},
		{"host@tcp", errAddress},
		{"*", errAddress},
		{"*@tcp", errAddress},
		{"10.0.0.[1-5]@tcp", errAddress},
		{"[2001:db8::1]@tcp", errAddress},
		{"fe80::1%eth0@tcp", errAddress},
		{"2001:db8:::1@tcp", errAddress},
		{"2001:db8::1@o2ib", errAddress}, // LNet has IPv6 addresses only on tcp
		{"2001:db8::1@gni", errAddress},
		{"10.0.0.1@gni", errAddress},
		{"-1@gni", errAddress},
		{"4294967296@gni", errAddress},
		{"0x100000000@kfi", errAddress},
		{"0x@kfi", errAddress},
		{"1f@kfi", errAddress},
		{"<?>@tcp", errAddress},
	}
	for _, tt := range tests {
		if n, err := Parse(tt.text); !errors.Is(err, tt.want) || n != (NID{}) {
			t.Errorf("Parse(%q) = %v, %v, want %v", tt.text, n, err, tt.want)
		}
	}
}

// TestUnknownText covers NIDs that LNet prints but does not parse.
func TestUnknownText(t *testing.T) {
	tests := []struct {
		name string
		wire []byte // beginning of the extended form; zeros follow
		want string
	}{
		{"zero", nil, "0@<0:0>"},
		{"tofu", []byte{0, 17, 0, 0, 0xC0, 0xA8, 1, 1}, "c0a80101@<17:0>"},
		{"tofu number 5", []byte{0, 17, 0, 5, 0, 0, 0, 1}, "1@<17:5>"},
		{"large tofu", []byte{12, 17, 0, 5, 0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, "20010db8:0:0:2@<17:5>"},
		{"seven bytes", []byte{3, 17, 0, 0, 1, 2, 3, 4, 5, 6, 7}, "1020304:5060700/7@<17:0>"},
		{"tcp with seven bytes", []byte{3, 2, 0, 0, 1, 2, 3, 4, 5, 6, 7}, "1020304:5060700/7@<2:0>"},
		{"large o2ib", []byte{12, 5, 0, 1, 0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, "20010db8:0:0:2@<5:1>"},
		{"large gni", []byte{12, 13, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4}, "1:2:3:4@<13:0>"},
		{"lo with number", []byte{0, 9, 0, 1}, "0@<9:1>"},
		{"lo with address", []byte{0, 9, 0, 0, 0, 0, 0, 7}, "7@<9:0>"},
		{"eight bytes", []byte{4, 17, 0, 0, 1, 2, 3, 4, 0, 0, 0, 7}, "1020304:7@<17:0>"},
		{"five bytes", []byte{1, 17, 0, 0, 0, 0, 0, 4}, "4:0/5@<17:0>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, _, err := ParseExtended(append(tt.wire, make([]byte, ExtendedSize-len(tt.wire))...))
			if err != nil {
				t.Fatal(err)
			}
			if n.String() != tt.want {
				t.Errorf("prints %q, want %q", n, tt.want)
			}
			if back, err := Parse(tt.want); err != nil || back != n {
				t.Errorf("Parse(%q) = %v, %v", tt.want, back, err)
			}
		})
	}
}

func TestTextMarshaling(t *testing.T) {
	type doc struct {
		N  NID
		Z  NID
		T  Net
		ZT Net
		P  ProcessID
		ZP ProcessID
		M  map[NID]int
	}
	in := doc{
		N: MustParse("10.0.0.1@tcp3"), T: MustParseNet("o2ib1"),
		P: ProcessID{MustParse("2001:db8::1"), LustrePID},
		M: map[NID]int{Lo0(): 1, Any(): 2},
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"N":"10.0.0.1@tcp3","Z":"","T":"o2ib1","ZT":"","P":"12345-2001:db8::1@tcp","ZP":"",` +
		`"M":{"0@lo":1,"\u003c?\u003e":2}}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	out := doc{Z: Lo0(), ZT: anyNet(), ZP: ProcessID{PID: 1}} // values that empty texts have to overwrite
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out, cmp.Comparer(func(a, b NID) bool { return a == b }),
		cmp.Comparer(func(a, b Net) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := json.Unmarshal([]byte(`{"N":"10.0.0@tcp"}`), &out); !errors.Is(err, errAddress) {
		t.Errorf("bad text: %v, want %v", err, errAddress)
	}
}

func TestMustParsePanics(t *testing.T) {
	for name, f := range map[string]func(){
		"MustParse":    func() { MustParse("10.0.0") },
		"MustParseNet": func() { MustParseNet("foo") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func TestAppendToAllocates(t *testing.T) {
	buf := make([]byte, 0, 64)
	for _, n := range []NID{MustParse("10.0.0.1@tcp3"), MustParse("2001:db8::1@tcp"), MustParse("31@gm"), Any(), Lo0()} {
		if got := testing.AllocsPerRun(100, func() { buf = n.AppendTo(buf[:0]) }); got != 0 {
			t.Errorf("AppendTo of %v allocates %v times", n, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"10.0.0.1@tcp3", "2001:db8::1@tcp", "::ffff:1.2.3.4@tcp", "31@gni", "0x1f@gm", "any@lo",
		"<?>", "10.0.0.1@tcp70000", "5@ptl2", "5@ptlf2", "c0a80101@<17:0>",
		"1:2:3/11@<2:9>", "0@<0:0>", "1@<9:1>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s)
		if err != nil {
			if n != (NID{}) {
				t.Fatalf("Parse(%q) = %v, %v", s, n, err)
			}
			return
		}
		if back, err := Parse(n.String()); err != nil || back != n {
			t.Fatalf("%q prints as %q, which parses to %v, %v", s, n, back, err)
		}
		if back, rest, err := ParseExtended(n.AppendExtended(nil)); err != nil || back != n || len(rest) != 0 {
			t.Fatalf("%v comes back from the wire as %v, %v", n, back, err)
		}
	})
}
