package ksock

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/nid"
)

var compareHello = cmp.Options{
	cmp.Comparer(func(a, b nid.NID) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
}

// helloGolden holds one HELLO of each form with its bytes, a line per field.
var helloGolden = []struct {
	name  string
	hello Hello
	hex   string
	text  string
}{
	{
		name: "v1",
		hello: Hello{
			Version: V1, SrcNID: nid.MustParse("10.0.0.1@tcp3"), SrcPID: 12345,
			SrcIncarnation: 0x1122334455667788, ConnType: BulkIn,
		},
		hex: `ed0dbcee 0100 0000
			0100000a03000200
			00000000 39300000
			04000000 00000000
			8877665544332211
			02000000
			00000000000000000000000000000000000000000000000000000000`,
		text: "HELLO v1 10.0.0.1@tcp3 BULK_IN",
	},
	{
		name: "v1 refusal with two addresses",
		hello: Hello{
			Version: V1, SrcNID: nid.MustParse("10.0.0.1@tcp"), SrcPID: 12345,
			SrcIncarnation: 1, ConnType: None, AddressCount: 2,
			Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("192.168.1.2")},
		},
		hex: `ed0dbcee 0100 0000
			0100000a00000200
			00000000 39300000
			04000000 08000000
			0100000000000000
			ffffffff
			00000000000000000000000000000000000000000000000000000000
			0100000a 0201a8c0`,
		text: "HELLO v1 10.0.0.1@tcp NONE",
	},
	{
		name: "v2",
		hello: Hello{
			Version: V2, SrcNID: nid.MustParse("10.0.0.1@tcp"), DstNID: nid.MustParse("10.0.0.2@tcp"),
			SrcPID: 12345, SrcIncarnation: 0x1122334455667788, ConnType: Any,
		},
		hex: `63697245 02000000
			0100000a00000200 0200000a00000200
			39300000 00000000
			8877665544332211 0000000000000000
			00000000 00000000`,
		text: "HELLO v2 10.0.0.1@tcp → 10.0.0.2@tcp ANY",
	},
	{
		name: "v3, every field",
		hello: Hello{
			Version: V3, SrcNID: nid.MustParse("10.0.0.1@tcp"), DstNID: nid.MustParse("10.0.0.2@tcp"),
			SrcPID: 12345, DstPID: 0x01020304,
			SrcIncarnation: 0x1122334455667788, DstIncarnation: 0x99aabbccddeeff00,
			ConnType: Control, AddressCount: 1, Addresses: []netip.Addr{netip.MustParseAddr("1.2.3.4")},
		},
		hex: `63697245 03000000
			0100000a00000200 0200000a00000200
			39300000 04030201
			8877665544332211 00ffeeddccbbaa99
			01000000 01000000
			04030201`,
		text: "HELLO v3 10.0.0.1@tcp → 10.0.0.2@tcp CONTROL",
	},
	{
		name: "v3 big-endian",
		hello: Hello{
			Version: V3, BigEndian: true,
			SrcNID: nid.MustParse("10.0.0.1@tcp"), DstNID: nid.MustParse("10.0.0.2@tcp"),
			SrcPID: 12345, DstPID: 0x01020304,
			SrcIncarnation: 0x1122334455667788, DstIncarnation: 0x99aabbccddeeff00,
			ConnType: BulkOut, AddressCount: 1, Addresses: []netip.Addr{netip.MustParseAddr("1.2.3.4")},
		},
		hex: `45726963 00000003
			000200000a000001 000200000a000002
			00003039 01020304
			1122334455667788 99aabbccddeeff00
			00000003 00000001
			01020304`,
		text: "HELLO v3 10.0.0.1@tcp → 10.0.0.2@tcp BULK_OUT",
	},
	{
		name: "v4",
		hello: Hello{
			Version: V4, SrcNID: nid.MustParse("2001:db8::1@tcp1"), DstNID: nid.MustParse("2001:db8::2@tcp1"),
			SrcPID: 12345, SrcIncarnation: 0x1122334455667788, ConnType: Control,
		},
		hex: `63697245 04000000
			0c02000120010db8000000000000000000000001
			0c02000120010db8000000000000000000000002
			39300000 00000000
			8877665544332211 0000000000000000
			01000000 00000000`,
		text: "HELLO v4 2001:db8::1@tcp1 → 2001:db8::2@tcp1 CONTROL",
	},
}

func TestHelloGolden(t *testing.T) {
	for _, tt := range helloGolden {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(t, tt.hex)
			got, err := tt.hello.AppendBinary([]byte("before"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append([]byte("before"), want...), got); diff != "" {
				t.Errorf("appended bytes (-want +got):\n%s", diff)
			}
			h, rest, err := ParseHello(append(bytes.Clone(want), "after"...))
			if err != nil || string(rest) != "after" {
				t.Fatalf("ParseHello: rest %q, %v", rest, err)
			}
			if diff := cmp.Diff(tt.hello, h, compareHello); diff != "" {
				t.Errorf("parsed (-want +got):\n%s", diff)
			}
			if err := h.Validate(); err != nil {
				t.Errorf("Validate: %v", err)
			}
			if s := h.String(); s != tt.text {
				t.Errorf("String: %q, want %q", s, tt.text)
			}
		})
	}
}

// TestHelloTruncated: for each HELLO that is cut short, at any byte, ParseHello returns ErrShort and
// consumes nothing, and NextSize asks for more bytes, but for no more than the whole HELLO has.
func TestHelloTruncated(t *testing.T) {
	for _, tt := range helloGolden {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.hex)
			for n := range b {
				if _, rest, err := ParseHello(b[:n]); err != ErrShort || len(rest) != n {
					t.Errorf("%d bytes: rest of %d, error %v, want ErrShort", n, len(rest), err)
				}
				if need, err := NextSize(b[:n]); err != nil || need <= n || need > len(b) {
					t.Errorf("%d bytes: NextSize is %d, %v", n, need, err)
				}
			}
			if need, err := NextSize(b); err != nil || need != len(b) {
				t.Errorf("NextSize of the whole: %d, %v, want %d", need, err, len(b))
			}
		})
	}
}

func TestHelloRefused(t *testing.T) {
	edit := func(golden int, off int, repl string) []byte {
		b := unhex(t, helloGolden[golden].hex)
		copy(b[off:], unhex(t, repl))
		return b
	}
	const v1, v3, v4 = 0, 3, 5
	tests := []struct {
		name     string
		bytes    []byte
		parse    error // error that ParseHello returns
		next     error // error that NextSize returns
		validate error
	}{
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: lustre.example.org\r\nUser-Agent: curl/8\r\n\r\n"), ErrMagic, ErrMagic, nil},
		{"acceptor magic", edit(v3, 0, "0071ceac"), ErrMagic, ErrMagic, nil},
		{"v1 magic, byte-swapped", edit(v1, 0, "eebc0ded"), ErrMagic, ErrMagic, nil},
		{"version 9", edit(v3, 4, "09000000"), ErrVersion, ErrVersion, nil},
		{"version 1 under the new magic", edit(v3, 4, "01000000"), ErrVersion, ErrVersion, nil},
		{"version 0", edit(v3, 4, "00000000"), ErrVersion, ErrVersion, nil},
		{"v1 major 2", edit(v1, 4, "0200"), ErrVersion, ErrVersion, nil},
		{"v1 minor 1", edit(v1, 6, "0100"), ErrVersion, ErrVersion, nil},
		{"v1 of type GET", edit(v1, 24, "02000000"), ErrHelloType, nil, nil},
		{"v1 payload length 5", edit(v1, 28, "05000000"), ErrAddresses, ErrAddresses, nil},
		{"v1 17 addresses", edit(v1, 28, "44000000"), ErrAddresses, ErrAddresses, nil},
		{"v3 40 addresses", edit(v3, 52, "28000000"), ErrAddresses, ErrAddresses, nil},
		{"v3 4 Gi addresses", edit(v3, 52, "ffffffff"), ErrAddresses, ErrAddresses, nil},
		{"v3 address 0", edit(v3, 56, "00000000"), nil, nil, ErrAddresses},
		{"v3 source ANY", edit(v3, 8, "ffffffffffffffff"), nil, nil, ErrSourceNID},
		{"v3 source 0", edit(v3, 8, "0000000000000000"), nil, nil, ErrSourceNID},
		{"v3 type 77", edit(v3, 48, "4d000000"), nil, nil, ErrConnType},
		{"v3 type -2", edit(v3, 48, "feffffff"), nil, nil, ErrConnType},
		{"v4 source of 21 bytes", edit(v4, 8, "0d"), nid.ErrSize, nil, nil},
		{"v4 list length is ignored", edit(v4, 76, "ffffffff"), nil, nil, nil},
		{"v4 source ANY", edit(v4, 8, "ffffffffffffffffffffffffffffffffffffffff"), nil, nil, ErrSourceNID},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, _, err := ParseHello(tt.bytes)
			if !errors.Is(err, tt.parse) {
				t.Fatalf("ParseHello: %v, want %v", err, tt.parse)
			}
			if _, err := NextSize(tt.bytes); !errors.Is(err, tt.next) {
				t.Errorf("NextSize: %v, want %v", err, tt.next)
			}
			if tt.parse != nil {
				return
			}
			if err := h.Validate(); !errors.Is(err, tt.validate) {
				t.Errorf("Validate: %v, want %v", err, tt.validate)
			}
		})
	}
}

// TestHelloRefusedKeepsFields: a HELLO that is refused still has the fields that an answer or a
// report of the refusal needs.
func TestHelloRefusedKeepsFields(t *testing.T) {
	b := unhex(t, helloGolden[3].hex)
	b[4] = 9
	if p, err := ParsePrefix(b); err != ErrVersion || p != (Prefix{Version: 9}) {
		t.Errorf("ParsePrefix of version 9: %+v, %v", p, err)
	}
	b[4], b[52] = 3, 40
	h, rest, err := ParseHello(b)
	if err != ErrAddresses || len(rest) != 4 || h.AddressCount != 40 || h.ConnType != Control {
		t.Errorf("ParseHello of 40 addresses: %+v, rest of %d, %v", h, len(rest), err)
	}
}

func TestHelloDoesNotFit(t *testing.T) {
	large := nid.MustParse("2001:db8::1@tcp")
	small := nid.MustParse("10.0.0.1@tcp")
	tests := []struct {
		name  string
		hello Hello
		want  error
	}{
		{"v1 source", Hello{Version: V1, SrcNID: large}, errLargeNID},
		{"v3 source", Hello{Version: V3, SrcNID: large, DstNID: small}, errLargeNID},
		{"v2 destination", Hello{Version: V2, SrcNID: small, DstNID: large}, errLargeNID},
		{"no version", Hello{SrcNID: small}, ErrVersion},
		{"version 5", Hello{Version: 5, SrcNID: small}, ErrVersion},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if b, err := tt.hello.AppendBinary(nil); err != tt.want || len(b) != 0 {
				t.Errorf("AppendBinary: %d bytes, %v, want %v", len(b), err, tt.want)
			}
		})
	}
}

func TestHelloCaptured(t *testing.T) {
	want := map[string]string{
		"tcp-ping/6":                      "HELLO v3 10.77.0.10@tcp → 10.77.0.11@tcp CONTROL",
		"tcp-ping/8":                      "HELLO v3 10.77.0.11@tcp → 10.77.0.10@tcp CONTROL",
		"tcp-ping/18":                     "HELLO v3 10.77.0.11@tcp → 10.77.0.10@tcp BULK_OUT",
		"tcp-proto-v1-active/6":           "HELLO v1 10.77.0.10@tcp CONTROL",
		"tcp-proto-v1-active/18":          "HELLO v1 10.77.0.11@tcp BULK_OUT",
		"tcp-proto-v1-passive/8":          "HELLO v1 10.77.0.10@tcp NONE",
		"tcp-proto-v2-passive/8":          "HELLO v2 10.77.0.10@tcp → 10.77.0.10@tcp NONE",
		"tcp-proto-v2-passive/21":         "HELLO v2 10.77.0.10@tcp → 10.77.0.11@tcp CONTROL",
		"tcp6-ping-discover/8":            "HELLO v4 fd88::2@tcp → fd88::3@tcp CONTROL",
		"tcp6-ping-discover/20":           "HELLO v4 fd88::3@tcp → fd88::2@tcp BULK_OUT",
		"tcp-err-handshake/34":            "HELLO v3 10.77.0.11@tcp → 10.77.0.11@tcp NONE",
		"tcp-err-handshake/74":            "HELLO v3 10.77.0.11@tcp → 200@<0:19722> CONTROL",
		"tcp-err-handshake-big-endian/72": "HELLO v3 10.77.0.1@tcp → 10.77.0.11@tcp CONTROL",
	}
	got := map[string]string{}
	for _, r := range captured(t, "hello.txt") {
		h, rest, err := ParseHello(r.bytes)
		if err != nil || len(rest) != 0 {
			t.Errorf("%s: rest of %d, %v", r.name, len(rest), err)
			continue
		}
		got[r.name] = h.String()
		again, err := h.AppendBinary(nil)
		if err != nil || !bytes.Equal(again, r.bytes) {
			t.Errorf("%s: encoded again: %v\n got %x\nwant %x", r.name, err, again, r.bytes)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConnType(t *testing.T) {
	tests := []struct {
		t, inverse ConnType
		text       string
		valid      bool
	}{
		{None, None, "NONE", true},
		{Any, Any, "ANY", true},
		{Control, Control, "CONTROL", true},
		{BulkIn, BulkOut, "BULK_IN", true},
		{BulkOut, BulkIn, "BULK_OUT", true},
		{77, 77, "77", false},
		{-2, -2, "-2", false},
	}
	for _, tt := range tests {
		if tt.t.Invert() != tt.inverse || tt.t.String() != tt.text || tt.t.IsValid() != tt.valid {
			t.Errorf("%d: inverse %v, text %q, valid %v", int32(tt.t), tt.t.Invert(), tt.t, tt.t.IsValid())
		}
	}
}

func FuzzHello(f *testing.F) {
	for _, tt := range helloGolden {
		f.Add(unhex(f, tt.hex))
	}
	for _, r := range captured(f, "hello.txt") {
		f.Add(r.bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, rest, err := ParseHello(b)
		need, nextErr := NextSize(b)
		if err != nil {
			if nextErr == nil && need <= len(b) && !errors.Is(err, ErrHelloType) && !errors.Is(err, nid.ErrSize) {
				t.Fatalf("ParseHello refuses with %v what NextSize calls complete", err)
			}
			return
		}
		if nextErr != nil || need != len(b)-len(rest) {
			t.Fatalf("NextSize: %d, %v, but ParseHello took %d", need, nextErr, len(b)-len(rest))
		}
		again, err := h.AppendBinary(nil)
		if err != nil {
			t.Fatalf("append what was parsed: %v", err)
		}
		g, rest, err := ParseHello(again)
		if err != nil || len(rest) != 0 {
			t.Fatalf("parse what was appended: rest of %d, %v", len(rest), err)
		}
		if diff := cmp.Diff(h, g, compareHello); diff != "" {
			t.Fatalf("changed by append and parse (-was +is):\n%s", diff)
		}
	})
}
