package nid

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

func TestExtended(t *testing.T) {
	tests := []struct {
		name string
		nid  NID
		wire []byte
	}{
		{"ipv4", MustParse("10.0.0.2@tcp"), []byte{
			0,    // nid_size: 4 bytes
			2,    // nid_type: tcp
			0, 0, // nid_num: number of the net
			10, 0, 0, 2, // nid_addr: 10.0.0.2
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		}},
		{"ipv6", MustParse("2001:db8::2@tcp1"), []byte{
			12,   // nid_size: 16 bytes
			2,    // nid_type: tcp
			0, 1, // nid_num: number of the net
			0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, // nid_addr: 2001:db8::2
		}},
		{"number", MustParse("0x01020304@kfi258"), []byte{
			0,    // nid_size: 4 bytes
			16,   // nid_type: kfi
			1, 2, // nid_num: number of the net
			1, 2, 3, 4, // nid_addr as bytes
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		}},
		{"lo", Lo0(), append([]byte{0, 9}, make([]byte, 18)...)},
		{"any", Any(), bytes.Repeat([]byte{0xFF}, 20)},
		{"zero", NID{}, make([]byte, 20)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.nid.AppendExtended([]byte{0xEE}); !bytes.Equal(got[1:], tt.wire) || got[0] != 0xEE {
				t.Errorf("AppendExtended\n got % x\nwant ee % x", got, tt.wire)
			}
			n, rest, err := ParseExtended(append(tt.wire, 0xEE))
			if err != nil || n != tt.nid || !bytes.Equal(rest, []byte{0xEE}) {
				t.Errorf("ParseExtended = %v, % x, %v", n, rest, err)
			}
			for i := range tt.wire {
				if _, rest, err := ParseExtended(tt.wire[:i]); !errors.Is(err, errShort) || len(rest) != i {
					t.Errorf("%d bytes: rest %d, %v", i, len(rest), err)
				}
			}
			if tt.nid.Is4() && binary.BigEndian.Uint64(tt.wire) != tt.nid.Value4() {
				t.Error("the first 8 bytes differ from the big-endian nid4")
			}
		})
	}
}

func TestExtendedSizes(t *testing.T) {
	for size := range 256 {
		wire := bytes.Repeat([]byte{0xAA}, ExtendedSize)
		wire[0], wire[1] = byte(size), byte(TCP)
		n, rest, err := ParseExtended(wire)
		if size > 12 {
			if !errors.Is(err, ErrSize) || n != (NID{}) || len(rest) != ExtendedSize {
				t.Errorf("size %d: %v, %v", size, n, err)
			}
			continue
		}
		want := append(bytes.Clone(wire[:8+size]), make([]byte, 12-size)...) // the rest of the address is cleared
		if got := n.AppendExtended(nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("size %d: % x, %v, want % x", size, got, err, want)
		}
		if n.AddrLen() != size+4 || n.Is4() != (size == 0) {
			t.Errorf("size %d: AddrLen %d, Is4 %v", size, n.AddrLen(), n.Is4())
		}
	}
}

func TestExtendedAnyForms(t *testing.T) {
	for _, size := range []byte{0, 12, 13, 255} {
		wire := make([]byte, ExtendedSize)
		wire[0], wire[1], wire[7] = size, 0xFF, 1
		if n, _, err := ParseExtended(wire); err != nil || n != Any() {
			t.Errorf("size %d with type 0xFF: %v, %v, want the wildcard", size, n, err)
		}
	}
}

func FuzzParseExtended(f *testing.F) {
	for _, s := range []string{"10.0.0.2@tcp", "fd88::2@tcp", "0@lo", "<?>"} {
		f.Add(MustParse(s).AppendExtended(nil))
	}
	f.Add([]byte{3, 17, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		n, rest, err := ParseExtended(b)
		if err != nil {
			if n != (NID{}) || len(rest) != len(b) {
				t.Fatalf("%v with an error and %d bytes left", n, len(rest))
			}
			return
		}
		wire := n.AppendExtended(nil)
		if back, _, err := ParseExtended(wire); err != nil || back != n {
			t.Fatalf("%v comes back as %v, %v", n, back, err)
		}
		if used := 4 + n.AddrLen(); !n.IsAny() && !bytes.Equal(wire[:used], b[:used]) {
			t.Fatalf("% x written as % x", b[:used], wire[:used])
		}
		if text := n.String(); len(text) >= 64 {
			t.Fatalf("text of %d bytes; LNet has room for 63: %s", len(text), text)
		}
		if n.Is4() && From4(n.Value4()) != n {
			t.Fatalf("%v is %v as nid4", n, From4(n.Value4()))
		}
	})
}
