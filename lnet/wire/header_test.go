package wire

import (
	"bytes"
	"errors"
	"testing"

	"ulnet/lnet/nid"
)

// numbered is a body in which every byte differs.
var numbered = [BodySize]byte{
	0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x8B, 0x8C, 0x8D, 0x8E, 0x8F,
	0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9A, 0x9B, 0x9C, 0x9D, 0x9E, 0x9F,
	0xA0, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7,
}

const numberedHex = "80 81 82 83 84 85 86 87 88 89 8A 8B 8C 8D 8E 8F " +
	"90 91 92 93 94 95 96 97 98 99 9A 9B 9C 9D 9E 9F A0 A1 A2 A3 A4 A5 A6 A7"

func appendHeader(h Header, b []byte) ([]byte, error)      { return h.AppendBinary(b) }
func appendLargeHeader(h Header, b []byte) ([]byte, error) { return h.AppendLarge(b) }

func TestHeader(t *testing.T) {
	h := Header{
		DestNID: nid.MustParse("10.0.0.2@tcp3"), SrcNID: nid.MustParse("10.0.0.1@o2ib4"),
		DestPID: 0x01020304, SrcPID: 0x05060708, Type: Put, PayloadLength: 0x0A0B0C0D, Body: numbered,
	}
	checkGolden(t, h, []field{
		{0, "dest_nid", "02 00 00 0A 03 00 02 00"},
		{8, "src_nid", "01 00 00 0A 04 00 05 00"},
		{16, "dest_pid", "04 03 02 01"},
		{20, "src_pid", "08 07 06 05"},
		{24, "type", "01 00 00 00"},
		{28, "payload_length", "0D 0C 0B 0A"},
		{32, "msg", numberedHex},
	}, appendHeader, ParseHeader)
}

func TestLargeHeader(t *testing.T) {
	h := Header{
		DestNID: nid.MustParse("2001:db8::2@tcp1"), SrcNID: nid.MustParse("10.0.0.1@o2ib4"),
		DestPID: 0x01020304, SrcPID: 0x05060708, Type: Reply, PayloadLength: 0x0A0B0C0D, Body: numbered,
	}
	checkGolden(t, h, []field{
		{0, "dest_nid", "0C 02 00 01 20 01 0D B8 00 00 00 00 00 00 00 00 00 00 00 02"},
		{20, "src_nid", "00 05 00 04 0A 00 00 01 00*12"},
		{40, "dest_pid", "04 03 02 01"},
		{44, "src_pid", "08 07 06 05"},
		{48, "type", "03 00 00 00"},
		{52, "payload_length", "0D 0C 0B 0A"},
		{56, "msg", numberedHex},
	}, appendLargeHeader, ParseLargeHeader)
}

func TestHeaderNIDs(t *testing.T) {
	large, small := nid.MustParse("2001:db8::2@tcp"), nid.MustParse("10.0.0.2@tcp")
	tests := []struct {
		name      string
		dest, src nid.NID
		want      error
	}{
		{"small", small, small, nil},
		{"large destination", large, small, ErrLargeNID},
		{"large source", small, large, ErrLargeNID},
		{"wildcards", nid.Any(), nid.Any(), nil},
		{"zero", nid.NID{}, nid.NID{}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := Header{DestNID: tt.dest, SrcNID: tt.src}
			b, err := h.AppendBinary([]byte{1})
			if !errors.Is(err, tt.want) {
				t.Fatalf("AppendBinary: %v, want %v", err, tt.want)
			}
			if err != nil {
				if !bytes.Equal(b, []byte{1}) {
					t.Errorf("after an error % x", b)
				}
				return
			}
			if back, _, err := ParseHeader(b[1:]); err != nil || back != h {
				t.Errorf("comes back as %v, %v", back, err)
			}
		})
	}
}

func TestLargeHeaderBadNID(t *testing.T) {
	for _, off := range []int{0, 20} {
		b := make([]byte, LargeHeaderSize)
		b[off], b[off+1] = 13, byte(nid.TCP)
		h, rest, err := ParseLargeHeader(b)
		if !errors.Is(err, nid.ErrSize) || h != (Header{}) || len(rest) != len(b) {
			t.Errorf("17 address bytes at %d: %v, rest %d, %v", off, h, len(rest), err)
		}
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name   string
		typ    MsgType
		length uint32
		want   error
	}{
		{"ack", Ack, 0, nil},
		{"ack with payload", Ack, 1, errPayload},
		{"get", Get, 0, nil},
		{"get with payload", Get, 1, errPayload},
		{"get with 4 GiB", Get, 1<<32 - 1, errPayload},
		{"put", Put, 0, nil},
		{"put of 1 MiB", Put, MaxPayload, nil},
		{"put too long", Put, MaxPayload + 1, errPayloadSize},
		{"put of 4 GiB", Put, 1<<32 - 1, errPayloadSize},
		{"reply", Reply, MaxPayload, nil},
		{"reply too long", Reply, MaxPayload + 1, errPayloadSize},
		{"hello", Hello, 0, ErrType},
		{"unknown", 5, 0, ErrType},
		{"byte-swapped put", 1 << 24, 0, ErrType},
		{"largest type", 1<<32 - 1, 0, ErrType},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := Header{Type: tt.typ, PayloadLength: tt.length}
			if err := h.Validate(); err != tt.want {
				t.Errorf("Validate: %v, want %v", err, tt.want)
			}
		})
	}
}

func TestMsgTypeString(t *testing.T) {
	for typ, want := range map[MsgType]string{
		0: "ACK", 1: "PUT", 2: "GET", 3: "REPLY", 4: "HELLO", 5: "type 5", 1<<32 - 1: "type 4294967295",
	} {
		if typ.String() != want {
			t.Errorf("type %d prints %q, want %q", uint32(typ), typ, want)
		}
	}
}

func TestHeaderAllocates(t *testing.T) {
	small, large := readHex(t, "put"), readHex(t, "large-get")
	buf := make([]byte, 0, LargeHeaderSize)
	var h Header
	var err error
	got := testing.AllocsPerRun(100, func() {
		h, _, err = ParseHeader(small)
		h.SetPut(h.Put())
		buf, _ = h.AppendBinary(buf[:0])
		h, _, err = ParseLargeHeader(large)
		h.SetGet(h.Get())
		buf, _ = h.AppendLarge(buf[:0])
	})
	if err != nil || got != 0 {
		t.Errorf("%v allocations, %v", got, err)
	}
}

func BenchmarkParseHeader(b *testing.B) {
	wire := readHex(b, "put")
	var h Header
	b.ReportAllocs()
	for b.Loop() {
		h, _, _ = ParseHeader(wire)
	}
	_ = h
}

func BenchmarkAppendHeader(b *testing.B) {
	h, _, err := ParseHeader(readHex(b, "put"))
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, HeaderSize)
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = h.AppendBinary(buf[:0])
	}
}

func FuzzParseHeader(f *testing.F) {
	for _, name := range []string{"get", "reply", "push", "ack", "put", "v1-hello"} {
		f.Add(readHex(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, rest, err := ParseHeader(b)
		if err != nil {
			if len(b) >= HeaderSize {
				t.Fatal(err)
			}
			return
		}
		if len(rest) != len(b)-HeaderSize {
			t.Fatalf("%d bytes left of %d", len(rest), len(b))
		}
		again, err := h.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if back, _, err := ParseHeader(again); err != nil || back != h {
			t.Fatalf("%v comes back as %v, %v", h, back, err)
		}
		if !bytes.Equal(again[16:], b[16:HeaderSize]) {
			t.Fatalf("% x written as % x", b[16:HeaderSize], again[16:])
		}
		large, err := h.AppendLarge(nil)
		if err != nil {
			t.Fatal(err)
		}
		if back, _, err := ParseLargeHeader(large); err != nil || back != h {
			t.Fatalf("%v comes back as %v, %v from the large form", h, back, err)
		}
	})
}

func FuzzParseLargeHeader(f *testing.F) {
	for _, name := range []string{"large-get", "large-reply", "large-push", "large-ack"} {
		f.Add(readHex(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, _, err := ParseLargeHeader(b)
		if err != nil {
			if !errors.Is(err, ErrShort) && !errors.Is(err, nid.ErrSize) {
				t.Fatal(err)
			}
			return
		}
		again, err := h.AppendLarge(nil)
		if err != nil {
			t.Fatal(err)
		}
		if back, _, err := ParseLargeHeader(again); err != nil || back != h {
			t.Fatalf("%v comes back as %v, %v", h, back, err)
		}
		if !bytes.Equal(again[40:], b[40:LargeHeaderSize]) {
			t.Fatalf("% x written as % x", b[40:LargeHeaderSize], again[40:])
		}
	})
}
