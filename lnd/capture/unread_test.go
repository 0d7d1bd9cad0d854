package capture_test

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/internal/headers"
)

// withoutEncap runs call as in a program without package encap.
func withoutEncap(call func()) {
	unusual := headers.Unusual
	defer func() { headers.Unusual = unusual }()
	headers.Unusual = nil
	call()
}

// ethernet returns a frame.
func ethernet(typ uint16, payload ...byte) []byte {
	return append(binary.BigEndian.AppendUint16(make([]byte, 12), typ), payload...)
}

// over returns an Ethernet frame with an IPv4 packet of the given protocol and fragment field.
func over(protocol byte, fragment uint16) []byte {
	b := segment{data: make([]byte, 20)}.frame()
	b[14+9] = protocol
	binary.BigEndian.PutUint16(b[14+6:], fragment)
	return b
}

// over6 returns an Ethernet frame with a packet of IPv6 of another protocol.
func over6(protocol byte) []byte {
	ip := make([]byte, 40+16)
	ip[0], ip[5], ip[6], ip[40] = 0x60, 16, protocol, 59 // ip[40] says that no next header follows, in case protocol is that of an extension header
	return ethernet(0x86DD, ip...)
}

// TestUnreadCounts: without package encap, too, only packets with damaged headers, and those that only
// encap can read, are malformed.
func TestUnreadCounts(t *testing.T) {
	other, fragment, malformed := capture.Counts{Packets: 1, Other: 1}, capture.Counts{Packets: 1, Fragments: 1}, capture.Counts{Packets: 1, Malformed: 1}
	cutTCP, badUDP := over(6, 0), over(17, 0)
	cutTCP[14+20+12] = 4 << 4
	badUDP[14+20+5] = 7
	for _, tt := range []struct {
		name  string
		frame []byte
		want  capture.Counts
		encap bool // package encap counts the packet under another reason
	}{
		{"ICMP", over(1, 0), other, false},
		{"IGMP", over(2, 0), other, false},
		{"first fragment", over(6, 0x2000), fragment, false},
		{"last fragment", over(17, 100), fragment, false},
		{"don't fragment", over(1, 0x4000), other, false},
		{"ICMPv6", over6(58), other, false},
		{"hop-by-hop options", over6(0), other, false},
		{"fragment of IPv6", over6(44), fragment, false},
		{"ARP", ethernet(0x0806, make([]byte, 28)...), other, false},
		{"spanning tree", ethernet(3, 0x42, 0x42, 3), other, false},
		{"unknown type", ethernet(0x88B5, 1, 2, 3), other, true},
		{"IPv6 that says IPv4", ethernet(0x0800, over6(58)[14:]...), malformed, true},
		{"cut header of IPv4", over(1, 0)[:14+19], malformed, true},
		{"cut header of a fragment", over(1, 100)[:14+19], malformed, true},
		{"cut header of Ethernet", over(1, 0)[:13], malformed, false},
		{"header of TCP too short", cutTCP, malformed, false},
		{"length of UDP too small", badUDP, malformed, false},
		{"tag of a VLAN", slices.Concat(make([]byte, 12), []byte{0x81, 0, 0, 7}, over(1, 0)[12:]), malformed, true},
	} {
		got := func() capture.Counts {
			d := capture.NewDissector(capture.Options{}, func(r *capture.Record) { t.Errorf("%s: record %v", tt.name, r.Kind) })
			if d.Packet(time.Unix(0, 0), capture.LinkEthernet, tt.frame) {
				t.Errorf("%s: belongs to LNet", tt.name)
			}
			return d.Counts()
		}
		withoutEncap(func() {
			if diff := cmp.Diff(tt.want, got()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		})
		if with := got(); (with != tt.want) != tt.encap {
			t.Errorf("%s: %+v with package encap", tt.name, with)
		}
	}
}

// TestUnreadCaptures: real captures have the same records and counts without package encap.
func TestUnreadCaptures(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pcap")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	others := 0
	for _, file := range files {
		packets := readPackets(t, bytes.NewReader(readFile(t, file)))
		want := dissected(packets)
		withoutEncap(func() {
			if diff := cmp.Diff(want, dissected(packets)); diff != "" {
				t.Errorf("%s (-with encap +without):\n%s", file, diff)
			}
		})
		for _, p := range packets {
			if len(p.Data) > 14 && p.Data[12] == 8 && p.Data[13] == 6 {
				others++
			}
		}
	}
	if others == 0 {
		t.Error("no capture has packets of ARP")
	}
}
