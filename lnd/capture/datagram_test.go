package capture_test

import (
	"bytes"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"

	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// datagram returns a multicast PUT, and the addresses that it goes from and to.
func datagram(t testing.TB, src, group, payload string) (from, to netip.AddrPort, b []byte) {
	t.Helper()
	d := wire.Datagram{Payload: []byte(payload), Header: wire.Header{
		SrcNID: nid.MustParse(src + "@tcp"), DestNID: nid.MustParse(group + "@tcp"),
		SrcPID: nid.LustrePID, DestPID: nid.LustrePID, PayloadLength: uint32(len(payload)),
	}}
	d.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: 5, Portal: 60})
	from = netip.AddrPortFrom(netip.MustParseAddr(src), 40000)
	to = netip.AddrPortFrom(netip.MustParseAddr(group), 10988)
	d.Large = from.Addr().Is6()
	b, err := ksock.Datagrams.Append(nil, &d)
	if err != nil {
		t.Fatal(err)
	}
	return from, to, b
}

// writeDatagrams captures an IPv4 and an IPv6 datagram, in pieces like those of drivers.
func writeDatagrams(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := capture.NewWriter(&out, clock())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{"10.0.0.1", "239.76.0.5"}, {"fd00::1", "ff15::4c4e:5"}} {
		from, to, b := datagram(t, c[0], c[1], "hello to all")
		w.Datagram(from, to, true, [][]byte{b[:20], b[20:20], b[20:]})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func dissect(t testing.TB, b []byte, opt capture.Options) (list []*capture.Record, counts capture.Counts) {
	t.Helper()
	in, err := capture.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	d := capture.NewDissector(opt, func(r *capture.Record) { list = append(list, r.Clone()) })
	for p, err := in.Next(); err != io.EOF; p, err = in.Next() {
		if err != nil {
			t.Fatal(err)
		}
		d.Packet(p.Time, p.Link, p.Data)
	}
	d.Close()
	return list, d.Counts()
}

// TestDatagrams: a driver's datagrams appear as UDP packets, and are messages of
// no connection when they are read (RM-A22).
func TestDatagrams(t *testing.T) {
	spec.Covers(t, "RM-A22")
	list, counts := dissect(t, writeDatagrams(t), capture.Options{})
	if len(list) != 2 || counts.Packets != 2 || counts.Other+counts.Malformed > 0 {
		t.Fatalf("%d records, %+v", len(list), counts)
	}
	for i, c := range [][2]string{{"10.0.0.1", "239.76.0.5"}, {"fd00::1", "ff15::4c4e:5"}} {
		from, to, b := datagram(t, c[0], c[1], "hello to all")
		r := list[i]
		if r.Kind != capture.Message || !r.Datagram || r.Err != nil || r.Type() != "PUT" || r.Src() != from || r.Dst() != to || r.Conn.ID != 0 {
			t.Errorf("record %+v of %+v", r, r.Conn)
		}
		if string(r.Payload) != "hello to all" || r.Large != from.Addr().Is6() || r.Header.DestNID.Addr() != to.Addr() {
			t.Errorf("payload %q, header %+v", r.Payload, r.Header)
		}
		if again, err := r.AppendBinary(nil); err != nil || !bytes.Equal(again, b) || !bytes.Equal(r.Raw, b) {
			t.Errorf("encoded again %x, %v, was %x", again, err, b)
		}
		p := gopacket.NewPacket(r.Raw, r.Layer(), gopacket.Default)
		var names []string
		for _, l := range p.Layers() {
			names = append(names, l.LayerType().String())
		}
		if len(names) != 3 || names[0] != "LNetDatagram" || !strings.HasPrefix(names[1], "LNet") || p.ErrorLayer() != nil {
			t.Errorf("layers %v, %v", names, p.ErrorLayer())
		}
	}
}

// TestDatagramsCut: a record has only the bytes of payload that were captured and that it may keep.
// Bytes that were not captured are counted as missing.
func TestDatagramsCut(t *testing.T) {
	b := writeDatagrams(t)
	list, _ := dissect(t, b, capture.Options{KeepPayload: 5})
	if len(list) != 2 || string(list[0].Payload) != "hello" || list[0].Missing != 0 || list[0].Err != nil {
		t.Errorf("kept in part: %+v", list)
	}
	in, err := capture.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	p, err := in.Next()
	if err != nil {
		t.Fatal(err)
	}
	for n := range p.Data {
		var got []capture.Record
		d := capture.NewDissector(capture.Options{}, func(r *capture.Record) { got = append(got, *r) })
		d.Packet(p.Time, p.Link, p.Data[:n])
		d.Close()
		switch {
		case len(got) > 1, len(got) == 1 && got[0].Kind == capture.Message && got[0].Missing != uint32(len(p.Data)-n):
			t.Errorf("%d bytes of %d: %+v", n, len(p.Data), got)
		case n == len(p.Data)-3 && (len(got) != 1 || got[0].Kind != capture.Message || got[0].Err != nil):
			t.Errorf("three bytes cut: %+v", got)
		}
	}
}

// TestDatagramsHostile: a packet that is no datagram of LNet is not reported, and one that
// only begins like a datagram is reported as not understood.
func TestDatagramsHostile(t *testing.T) {
	for _, tt := range []struct {
		name  string
		group string
		bend  func(b []byte) []byte
		want  capture.Kind // kind of the record; 0: there must be no record
	}{
		{"not LNet's", "239.76.0.5", func(b []byte) []byte { b[0] ^= 1; return b }, 0},
		{"to one node", "10.0.0.2", func(b []byte) []byte { return b }, 0},
		{"empty", "239.76.0.5", func([]byte) []byte { return nil }, 0},
		{"magic alone", "239.76.0.5", func(b []byte) []byte { return b[:4] }, capture.Unknown},
		{"version", "239.76.0.5", func(b []byte) []byte { b[4] = 9; return b }, capture.Unknown},
		{"header size", "239.76.0.5", func(b []byte) []byte { b[6] = 9; return b }, capture.Unknown},
		{"too short", "239.76.0.5", func(b []byte) []byte { return b[:len(b)-1] }, capture.Message},
		{"too long", "239.76.0.5", func(b []byte) []byte { return append(b, 0) }, capture.Message},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from, to, b := datagram(t, "10.0.0.1", tt.group, "hello")
			var out bytes.Buffer
			w, err := capture.NewWriter(&out, clock())
			if err != nil {
				t.Fatal(err)
			}
			w.Datagram(from, to, false, [][]byte{tt.bend(b)})
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			list, counts := dissect(t, out.Bytes(), capture.Options{})
			switch {
			case tt.want == 0:
				if len(list) != 0 || counts.Other != 1 {
					t.Errorf("records %v, %+v", list, counts)
				}
			case len(list) != 1 || list[0].Kind != tt.want || list[0].Err == nil:
				t.Errorf("records %+v", list)
			case tt.want == capture.Message && !strings.HasPrefix("hello", string(list[0].Payload)):
				t.Errorf("payload %q", list[0].Payload)
			}
		})
	}
}

// TestDatagramViewer: a viewer that is too slow for datagrams misses some, and they are
// counted; datagrams that no viewer captures are not decoded.
func TestDatagramViewer(t *testing.T) {
	w, err := capture.NewWriter(nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	from, to, b := datagram(t, "10.0.0.1", "239.76.0.5", strings.Repeat("x", 60000))
	pieces := [][]byte{b}
	if n := testing.AllocsPerRun(100, func() { w.Datagram(from, to, true, pieces) }); n > 0 {
		t.Errorf("%v allocations for each datagram that nobody captures", n)
	}
	slow, hold := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- w.View(t.Context(), hold) }()
	for w.Dropped() == 0 {
		w.Datagram(from, to, true, pieces)
	}
	if err := slow.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("a viewer that is gone has no error")
	}
}

// TestDatagramsInTshark: tshark recognizes UDP packets with good checksums, without any
// option.
func TestDatagramsInTshark(t *testing.T) {
	effort.OneGoroutine(t)
	path := needs.Program(t, "tshark")
	file := filepath.Join(t.TempDir(), "multicast.pcapng")
	if err := os.WriteFile(file, writeDatagrams(t), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "-r", file, "-o", "udp.check_checksum:TRUE", "-T", "fields",
		"-e", "ip.dst", "-e", "ipv6.dst", "-e", "udp.dstport", "-e", "udp.length", "-e", "udp.checksum.status", "-e", "_ws.expert").Output()
	if err != nil {
		t.Fatal("tshark:", err)
	}
	got := slices.Collect(strings.Lines(string(out)))
	want := []string{"239.76.0.5\t\t10988\t100\t1\t\n", "\tff15::4c4e:5\t10988\t124\t1\t\n"}
	if !slices.Equal(got, want) {
		t.Errorf("tshark prints %q, want %q", got, want)
	}
}
