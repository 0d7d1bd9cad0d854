package ksock

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

func datagramOf(src, dst string, payload string) wire.Datagram {
	d := wire.Datagram{Payload: []byte(payload), Header: wire.Header{
		SrcNID: nid.MustParse(src), DestNID: nid.MustParse(dst), SrcPID: nid.LustrePID, DestPID: nid.LustrePID,
		PayloadLength: uint32(len(payload)),
	}}
	d.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: 0x1122334455667788, HdrData: 9, Portal: 60, Offset: 3})
	d.Large = !d.Header.SrcNID.Is4()
	return d
}

// datagramPut is the PUT command of each message that datagramOf makes: no handle, match bits,
// header data, portal, offset.
const datagramPut = "ffffffffffffffff ffffffffffffffff 8877665544332211 0900000000000000 3c000000 03000000"

var datagramGolden = []struct {
	name string
	d    wire.Datagram
	hex  string
}{
	{
		"IPv4", datagramOf("10.0.0.1@tcp", "239.76.0.5@tcp", "hello"),
		"4c4e4d43 0100 4800  05004cef00000200 0100000a00000200 39300000 39300000 01000000 05000000" + datagramPut + "68656c6c6f",
	},
	{
		"IPv6, no payload", datagramOf("fd00::1@tcp1", "ff15::4c4e:5@tcp1", ""),
		"4c4e4d43 0100 6000", // the bytes before the large header; package lnet/wire tests that header
	},
}

func TestDatagramGolden(t *testing.T) {
	for _, tt := range datagramGolden {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(t, tt.hex)
			if tt.d.Large {
				want, _ = tt.d.Header.AppendLarge(want)
			}
			got, err := Datagrams.Append(nil, &tt.d)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("AppendBinary:\n got %x, %v\nwant %x", got, err, want)
			}
			var back wire.Datagram
			if err := Datagrams.Parse(want, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.d, back, cmp.Comparer(func(a, b nid.NID) bool { return a == b })); diff != "" {
				t.Error(diff)
			}
			for n := range want {
				if err := Datagrams.Parse(want[:n], &back); !errors.Is(err, ErrShort) && !errors.Is(err, wire.ErrDatagramLength) {
					t.Errorf("%d bytes: %v", n, err)
				}
			}
			if err := Datagrams.Parse(append(want, 0), &back); !errors.Is(err, wire.ErrDatagramLength) {
				t.Errorf("a byte too many: %v", err)
			}
		})
	}
}

func TestDatagramRefusals(t *testing.T) {
	d := datagramOf("10.0.0.1@tcp", "239.76.0.5@tcp", "hello")
	good, err := Datagrams.Append(nil, &d)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		at   int
		want error
	}{{0, Datagrams.ErrMagic}, {3, Datagrams.ErrMagic}, {4, wire.ErrDatagramVersion}, {5, wire.ErrDatagramVersion}, {6, Datagrams.ErrHeader}, {7, Datagrams.ErrHeader}, {36, wire.ErrDatagramLength}, {39, wire.ErrDatagramLength}} {
		b := bytes.Clone(good)
		b[tt.at] ^= 0x80
		if err := Datagrams.Parse(b, &d); !errors.Is(err, tt.want) {
			t.Errorf("byte %d: %v, want %v", tt.at, err, tt.want)
		}
	}
	large := datagramOf("fd00::1@tcp", "ff15::1@tcp", "")
	large.Large = false
	if b, err := Datagrams.Append([]byte("x"), &large); !errors.Is(err, wire.ErrLargeNID) || string(b) != "x" {
		t.Errorf("a NID that does not fit: %q, %v", b, err)
	}
}

func FuzzDatagram(f *testing.F) {
	for _, tt := range datagramGolden {
		b, err := Datagrams.Append(nil, &tt.d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)-1])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d wire.Datagram
		if err := Datagrams.Parse(b, &d); err != nil {
			return
		}
		again, err := Datagrams.Append(nil, &d)
		if err != nil || len(again) != len(b) {
			t.Fatalf("encoded again %x, %v, was %x", again, err, b)
		}
		var back wire.Datagram
		if err := Datagrams.Parse(again, &back); err != nil || back.Header != d.Header || !bytes.Equal(back.Payload, d.Payload) {
			t.Fatalf("parsed again %+v, %v, was %+v", back, err, d)
		}
	})
}
