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

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"ulnet/lnd"
	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/verbs/ibta"
)

// ipv4Of returns the IPv4 packet in an Ethernet frame, without the padding of the frame.
func ipv4Of(t testing.TB, p capture.Packet) (*layers.IPv4, []byte) {
	t.Helper()
	decoded := gopacket.NewPacket(p.Data, layers.LayerTypeEthernet, gopacket.Default)
	if p.Link == capture.LinkRaw {
		decoded = gopacket.NewPacket(p.Data, layers.LayerTypeIPv4, gopacket.Default)
	}
	ip, ok := decoded.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
	if !ok {
		return nil, nil
	}
	return ip, slices.Concat(ip.Contents, ip.Payload)
}

// packetOf returns a RoCE packet in the form in which a device passes it to its tap; false
// for other packets.
func packetOf(t testing.TB, p capture.Packet) (lnd.Packet, bool) {
	t.Helper()
	ip, _ := ipv4Of(t, p)
	if ip == nil {
		return lnd.Packet{}, false
	}
	udp, ok := gopacket.NewPacket(ip.Payload, layers.LayerTypeUDP, gopacket.Default).Layer(layers.LayerTypeUDP).(*layers.UDP)
	if !ok || udp.DstPort != ibta.Port {
		return lnd.Packet{}, false
	}
	src, _ := netip.AddrFromSlice(ip.SrcIP)
	dst, _ := netip.AddrFromSlice(ip.DstIP)
	return lnd.Packet{
		From: netip.AddrPortFrom(src, uint16(udp.SrcPort)), To: netip.AddrPortFrom(dst, uint16(udp.DstPort)),
		TrafficClass: ip.TOS, ID: ip.Id, Bytes: udp.Payload,
	}, true
}

func packetsOf(t testing.TB, in io.Reader) (list []capture.Packet) {
	t.Helper()
	r, err := capture.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	for p, err := r.Next(); err != io.EOF; p, err = r.Next() {
		if err != nil {
			t.Fatal(err)
		}
		p.Data = bytes.Clone(p.Data)
		list = append(list, p)
	}
	return list
}

// rewrite captures the RoCE packets of a file again, as the tap of a device does. It returns
// the packets, and the capture.
func rewrite(t testing.TB, file string) (packets []capture.Packet, captured []byte) {
	t.Helper()
	var out bytes.Buffer
	w, err := capture.NewWriter(&out, clock())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packetsOf(t, openFile(t, file)) {
		if tapped, ok := packetOf(t, p); ok {
			packets = append(packets, p)
			w.Packet(tapped)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packets, out.Bytes()
}

// TestPacketsAgain captures the packets of kernel nodes again: every byte is the same except the
// UDP checksum, which kernels leave out, and the records are the same.
func TestPacketsAgain(t *testing.T) {
	for _, dir := range captureDirs {
		files, _ := filepath.Glob(filepath.Join(dir.path, "o2ib-*.pcap"))
		for _, file := range files {
			t.Run(dir.name+"/"+filepath.Base(file), func(t *testing.T) {
				packets, captured := rewrite(t, file)
				again := packetsOf(t, bytes.NewReader(captured))
				if len(again) != len(packets) || len(again) == 0 {
					t.Fatalf("%d packets of %d", len(again), len(packets))
				}
				for i := range again {
					_, got := ipv4Of(t, again[i])
					_, want := ipv4Of(t, packets[i])
					const checksum = ibta.IPv4Size + 6
					if want[checksum] == 0 && want[checksum+1] == 0 {
						want[checksum], want[checksum+1] = got[checksum], got[checksum+1]
					}
					if !bytes.Equal(got, want) {
						t.Fatalf("packet %d\n got %x\nwant %x", i, got, want)
					}
				}
				got, counts := tellRoCE(again)
				want, before := tellRoCE(packets)
				if diff := cmp.Diff(want, got); diff != "" || counts != before {
					t.Errorf("%+v, was %+v (-was +is)\n%s", counts, before, diff)
				}
			})
		}
	}
}

// TestPackets6: over IPv6 the ICRC is correct, too, and IPv4-mapped addresses are captured as IPv4.
func TestPackets6(t *testing.T) {
	for _, tt := range []struct{ from, to string }{{"fd00::1", "fd00::2"}, {"::ffff:10.0.0.1", "::ffff:10.0.0.2"}, {"10.0.0.1", "10.0.0.2"}} {
		from, to := netip.AddrPortFrom(netip.MustParseAddr(tt.from), 0xC000), netip.AddrPortFrom(netip.MustParseAddr(tt.to), ibta.Port)
		const id = 7
		p := ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendOnly, PKey: ibta.DefaultPKey, DestQP: 5}, Payload: []byte("hello")}
		b := ibta.NewPath(from, to).AppendICRC(id, p.AppendTo(nil))
		var out bytes.Buffer
		w, err := capture.NewWriter(&out, clock())
		if err != nil {
			t.Fatal(err)
		}
		w.Packet(lnd.Packet{From: from, To: to, Sent: true, TrafficClass: 0x68, ID: id, Bytes: b})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		list, counts := dissect(t, out.Bytes(), capture.Options{})
		if len(list) == 0 || counts.BadICRC+counts.Malformed+counts.Other > 0 {
			t.Errorf("%v: %d records, %+v", tt, len(list), counts)
		}
		for _, r := range list {
			if r.Kind == capture.RocePacket && (string(r.RoCE.Packet.Payload) != "hello" || r.Err != nil || r.Src().Addr() != from.Addr().Unmap()) {
				t.Errorf("%v: %+v", tt, r)
			}
		}
	}
}

// TestPacketsUncaptured: packets that no viewer captures are not decoded.
func TestPacketsUncaptured(t *testing.T) {
	w, err := capture.NewWriter(nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	p := lnd.Packet{From: netip.MustParseAddrPort("10.0.0.1:4791"), To: netip.MustParseAddrPort("10.0.0.2:4791"), Bytes: make([]byte, 1100)}
	if n := testing.AllocsPerRun(100, func() { w.Packet(p) }); n > 0 {
		t.Errorf("%v allocations for each packet that nobody captures", n)
	}
}

// tsharkFields prints fields of all packets of a file.
func tsharkFields(t testing.TB, file string, fields ...string) []string {
	t.Helper()
	path := needs.Program(t, "tshark")
	args := []string{"-r", file, "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields", "-E", "separator=;"}
	for _, field := range fields {
		args = append(args, "-e", field)
	}
	out, err := exec.CommandContext(t.Context(), path, args...).Output()
	if err != nil {
		t.Fatal("tshark:", err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// TestPacketsInTshark: tshark decodes the packets down to the CM messages and the
// LNet messages inside, and finds good checksums.
func TestPacketsInTshark(t *testing.T) {
	effort.OneGoroutine(t)
	original := filepath.Join("testdata", "o2ib-rxe-active-ping.pcap")
	_, captured := rewrite(t, original)
	file := filepath.Join(t.TempDir(), "roce.pcapng")
	if err := os.WriteFile(file, captured, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, line := range tsharkFields(t, file, "ip.checksum.status", "udp.checksum.status") {
		if line != "1;1" {
			t.Errorf("packet %d: checksums %s, want good ones", i, line)
		}
	}
	fields := []string{
		"infiniband.bth.opcode", "infiniband.mad.attributeid", "infiniband.cm.req.serviceid.dport",
		"infiniband.cm.req.ip_cm.sip4", "lnet.ib.type", "lnet.msg_type", "infiniband.bth.psn", "infiniband.invariant.crc", "lnet.nid.addr", "_ws.expert",
	}
	got, want := tsharkFields(t, file, fields...), tsharkFields(t, original, fields...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-original +captured again)\n%s", diff)
	}
	if len(got) != 9 || !strings.HasPrefix(got[0], "100;0x0010;0x03db;10.88.0.1;0xc0;") {
		t.Errorf("tshark prints %q, want a CM REQ with a CONNREQ first of nine", got)
	}
}

// TestZeroChecksum: a checksum of zero is written as all ones, because zero says
// that there is none (RFC 768).
func TestZeroChecksum(t *testing.T) {
	from, to := netip.MustParseAddrPort("10.0.0.1:1000"), netip.MustParseAddrPort("10.0.0.2:4791")
	checksum := func(payload ...byte) []byte {
		var out bytes.Buffer
		w, err := capture.NewWriter(&out, clock())
		if err != nil {
			t.Fatal(err)
		}
		w.Packet(lnd.Packet{From: from, To: to, Bytes: payload})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		list := packetsOf(t, &out)
		return list[0].Data[ibta.IPv4Size+6 : ibta.IPv4Size+8]
	}
	plain := checksum(0, 0)
	if got := checksum(plain[0], plain[1]); got[0] != 0xFF || got[1] != 0xFF {
		t.Errorf("checksum %x, want ffff", got)
	}
}
